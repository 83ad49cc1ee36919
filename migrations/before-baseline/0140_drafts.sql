-- The steps of a project's draft. The newest is the draft as it is now; one without a flow says that there is none.
create table draft_steps (
  project_id       uuid not null references projects,
  -- Rises with every step, also after the draft was deleted.
  revision         integer not null check (revision > 0),
  org_id           uuid not null references organisations,
  flow             json,
  -- The version that the draft became.
  published_as     integer,
  changed_by_type  text not null check (changed_by_type in ('org_api_key', 'user')),
  changed_by       uuid not null,
  changed_at       timestamptz not null default clock_timestamp(),
  primary key (project_id, revision)
);
create index draft_steps_changed_idx on draft_steps (changed_at);
alter table draft_steps enable row level security;
create policy org_rows on draft_steps to millrace_app using (org_id = current_org()) with check (org_id = current_org());
grant select, insert, update, delete on draft_steps to millrace_app;
