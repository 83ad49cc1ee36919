-- The runs that show a pause of a sub-flow's run as one of their own: its parent, the parent of that, and so on.
create table run_shown_pauses (
  run_id    uuid not null references runs on delete cascade,
  pause_id  uuid not null references run_pauses on delete cascade,
  org_id    uuid not null,
  -- How far above the pause's own run: 1 is its parent.
  distance  integer not null check (distance > 0),
  -- Where the pause stands as seen from this run: "flow-0/approval-0".
  path      text not null,
  primary key (run_id, pause_id)
);
create index run_shown_pauses_pause_idx on run_shown_pauses (pause_id);
alter table run_shown_pauses enable row level security;
create policy org_rows on run_shown_pauses to millrace_app using (org_id = current_org()) with check (org_id = current_org());
grant select, insert, update, delete on run_shown_pauses to millrace_app;
