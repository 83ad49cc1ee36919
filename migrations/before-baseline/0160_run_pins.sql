-- The runs that pinned values of a run were copied from: who erases the one erases the other. Without a foreign key to `runs`, because
-- adding one waits for whoever writes runs.
create table run_pins (
  run_id         uuid not null,
  source_run_id  uuid not null,
  org_id         uuid not null references organisations,
  primary key (run_id, source_run_id)
);
create index run_pins_source_idx on run_pins (source_run_id);
alter table run_pins enable row level security;
create policy org_rows on run_pins to millrace_app using (org_id = current_org()) with check (org_id = current_org());
grant select, insert, update, delete on run_pins to millrace_app;

-- A removed run may have held values of several users.
alter table removed_runs drop constraint removed_runs_pkey;
alter table removed_runs add primary key (run_id, user_hash);
