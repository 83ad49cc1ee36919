-- How long runs are kept, where an organisation or a project says so itself.
create table retention_policies (
  org_id      uuid not null references organisations,
  -- Null: of the whole organisation.
  project_id  uuid references projects on delete cascade,
  -- Days after a run's end.
  run_days    integer not null check (run_days between 1 and 36500),
  updated_at  timestamptz not null default now(),
  unique nulls not distinct (org_id, project_id)
);
alter table retention_policies enable row level security;
create policy org_rows on retention_policies to millrace_app using (org_id = current_org()) with check (org_id = current_org());
grant select, insert, update, delete on retention_policies to millrace_app;

-- 0075 makes the index by which the sweep looks at the oldest runs of each project.
create index conversation_turns_kept_idx on conversation_turns (conversation_id, created_at);
