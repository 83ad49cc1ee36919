-- The text of models while it is being written: pieces, for those who watch a run. They are removed some time after its end; the
-- text itself is a part of the run's record. Without a log: a crash of the database costs no more than the pieces, and they cost
-- little. No reference to the run either: to check it would wait for the lock of each write of the run's record.
create unlogged table run_deltas (
  run_id     uuid not null,
  -- Readers go by it; what commits late may come behind a higher one.
  id         bigint generated always as identity,
  org_id     uuid not null,
  path       text not null,
  -- Grows whenever a text begins anew.
  attempt    integer not null,
  step       integer not null,
  -- Length of the text before this piece, in UTF-16 units.
  from_char  integer not null,
  text       text not null,
  primary key (run_id, id)
);
create unique index run_deltas_place_key on run_deltas (run_id, path, attempt, step, from_char);
alter table run_deltas enable row level security;
create policy org_rows on run_deltas to millrace_app using (org_id = current_org()) with check (org_id = current_org());
grant select, insert, delete on run_deltas to millrace_app;
