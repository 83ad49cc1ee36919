-- A member of an organisation has only the roles granted in single projects.
alter table users drop constraint users_role_check;
alter table users add constraint users_role_check check (role in ('member', 'viewer', 'editor', 'admin'));

create table project_roles (
  project_id  uuid not null references projects on delete cascade,
  user_id     uuid not null references users on delete cascade,
  org_id      uuid not null references organisations,
  role        text not null check (role in ('viewer', 'editor', 'admin')),
  created_at  timestamptz not null default now(),
  primary key (project_id, user_id)
);
-- With what somebody signs in by, their roles are read too.
create index project_roles_user_idx on project_roles (user_id, project_id);
alter table project_roles enable row level security;
create policy org_rows on project_roles to millrace_app using (org_id = current_org()) with check (org_id = current_org());
grant select, insert, update, delete on project_roles to millrace_app;
