-- How often a run was started again because its workflow was lost.
create table run_restarts (
  run_id       uuid primary key references runs on delete cascade,
  org_id       uuid not null,
  restarts     integer not null default 1,
  restarted_at timestamptz not null default now()
);
alter table run_restarts enable row level security;
create policy org_rows on run_restarts to millrace_app using (org_id = current_org()) with check (org_id = current_org());
grant select, insert, update, delete on run_restarts to millrace_app;
