-- Environments of a project: each has a version and the connections that its runs use. Without rows, a project has its default
-- environments, of which only production can have a version: the published one.

-- Whoever writes runs waits behind this. Behind a long read, such as a backup's, rather nothing is done: it can be repeated.
do $$
begin
  for attempt in 1..20 loop
    begin
      perform set_config('lock_timeout', '250ms', true);
      lock table runs in access exclusive mode;
      return;
    exception when lock_not_available then
      perform pg_sleep(0.5);
    end;
  end loop;
  raise lock_not_available using message = 'others use the table of runs all the time: repeat this when the backup, or other long read, is done';
end
$$;
-- `environment`: null for drafts and explicit versions. `bindings_id`: the promotion whose connections replace those of the flow.
alter table runs add column environment text, add column bindings_id uuid;

-- Every promotion of a version, roll backs included. A row never changes, so runs can refer to its connections.
create table promotions (
  promotion_id      uuid primary key,
  org_id            uuid not null references organisations,
  project_id        uuid not null,
  environment       text not null,
  version           integer not null check (version > 0),
  -- Connection IDs of the flow, and the IDs that replace them.
  connections       jsonb not null default '{}',
  notes             text not null default '',
  kind              text not null check (kind in ('promotion', 'rollback')),
  -- What it replaced.
  previous_id       uuid references promotions,
  previous_version  integer,
  -- The promotion that a roll back repeats.
  repeats_id        uuid references promotions,
  review_id         uuid,
  promoted_by_type  text not null check (promoted_by_type in ('org_api_key', 'user')),
  promoted_by       uuid not null,
  promoted_at       timestamptz not null default clock_timestamp(),
  foreign key (project_id, version) references flow_versions (project_id, version)
);
create index promotions_history_idx on promotions (project_id, environment, promotion_id);
create index promotions_version_idx on promotions (project_id, version, promotion_id);

create table environments (
  project_id       uuid not null references projects,
  name             text not null check (name ~ '^[a-z][a-z0-9-]{0,31}$' and name <> 'draft'),
  org_id           uuid not null references organisations,
  -- Order in lists.
  place            integer not null,
  promotion_id     uuid references promotions,
  -- Those of the promotion. The version of production is in `projects.published_version` as well.
  version          integer,
  bindings_id      uuid references promotions,
  requires_review  boolean not null default false,
  revision         integer not null default 1,
  updated_at       timestamptz not null default now(),
  primary key (project_id, name)
);

do $$
declare
  name text;
begin
  foreach name in array array['promotions', 'environments'] loop
    execute format('alter table %I enable row level security', name);
    execute format('create policy org_rows on %I to millrace_app using (org_id = current_org()) with check (org_id = current_org())', name);
    execute format('grant select, insert, update, delete on %I to millrace_app', name);
  end loop;
end
$$;
