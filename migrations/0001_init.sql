-- Organisations and their credentials, projects and flow versions, runs and what is recorded of them.
-- Every table that belongs to an organisation carries org_id and row-level security: the services connect as role
-- millrace_app, which sees only the rows of the organisation in the setting millrace.org_id.

do $$
begin
  if not exists (select from pg_roles where rolname = 'millrace_app') then
    create role millrace_app nologin;
  end if;
exception when duplicate_object or unique_violation then
  null; -- another database of this cluster is being migrated at the same time; roles are the cluster's
end
$$;
-- Membership lets a login role that is no superuser take the role on.
do $$ begin execute format('grant millrace_app to %I', current_user); exception when others then null; end $$;

create function current_org() returns uuid language sql stable parallel safe
  as $$ select nullif(current_setting('millrace.org_id', true), '')::uuid $$;

-- ---------------------------------------------------------------- organisations, users, credentials
create table organisations (
  org_id      uuid primary key,
  name        text not null check (length(name) between 1 and 200),
  created_at  timestamptz not null default now()
);

create table users (
  user_id        uuid primary key,
  org_id         uuid not null references organisations,
  email          text not null,
  password_hash  text not null,
  role           text not null check (role in ('viewer', 'editor', 'admin')),
  created_at     timestamptz not null default now(),
  disabled_at    timestamptz
);
create unique index users_email_key on users (lower(email));
create index users_org_idx on users (org_id, user_id);

create table api_keys (
  key_id        uuid primary key,
  org_id        uuid not null references organisations,
  name          text not null,
  kind          text not null check (kind in ('public', 'secret')),
  secret_hash   bytea not null,
  prefix        text not null,
  created_by    uuid,
  created_at    timestamptz not null default now(),
  expires_at    timestamptz,
  revoked_at    timestamptz,
  last_used_at  timestamptz
);
create unique index api_keys_secret_hash_key on api_keys (secret_hash);
create index api_keys_org_idx on api_keys (org_id, key_id);

create table oauth_tokens (
  token_id     uuid primary key,
  org_id       uuid not null references organisations,
  user_id      uuid not null references users,
  kind         text not null check (kind in ('access', 'refresh')),
  secret_hash  bytea not null,
  scope        text not null default '',
  created_at   timestamptz not null default now(),
  expires_at   timestamptz not null,
  revoked_at   timestamptz
);
create unique index oauth_tokens_secret_hash_key on oauth_tokens (secret_hash);
create index oauth_tokens_expiry_idx on oauth_tokens (expires_at);

-- ---------------------------------------------------------------- projects and flow versions
create table projects (
  project_id         uuid primary key,
  org_id             uuid not null references organisations,
  name               text not null check (length(name) between 1 and 200),
  description        text not null default '',
  published_version  integer,
  latest_version     integer not null default 0,
  revision           integer not null default 1,
  created_at         timestamptz not null default now(),
  updated_at         timestamptz not null default now(),
  deleted_at         timestamptz
);
create index projects_org_idx on projects (org_id, project_id) where deleted_at is null;

create table flow_versions (
  project_id    uuid not null references projects,
  version       integer not null check (version > 0),
  org_id        uuid not null references organisations,
  definition    jsonb not null,
  plan          jsonb not null,
  content_hash  text not null,
  notes         text not null default '',
  created_by    uuid,
  created_at    timestamptz not null default now(),
  primary key (project_id, version)
);
create unique index flow_versions_content_key on flow_versions (project_id, content_hash);

-- ---------------------------------------------------------------- runs
create table runs (
  run_id            uuid primary key,
  org_id            uuid not null references organisations,
  project_id        uuid not null references projects,
  flow_version      integer not null,
  state             text not null default 'PENDING'
                    check (state in ('PENDING', 'RUNNING', 'PAUSED', 'RESUMED', 'COMPLETED', 'FAILED', 'CANCELLED')),
  state_reason      text,
  inputs            jsonb not null,
  outputs           jsonb,
  citations         jsonb,
  error             jsonb,
  run_type          text not null check (run_type in ('api', 'batch', 'trigger', 'scheduled', 'sub_workflow')),
  ran_by_type       text not null check (ran_by_type in ('org_api_key', 'user', 'system')),
  ran_by_id         uuid,
  user_id           text,
  parent_run_id     uuid,
  resumed_from      jsonb,
  metadata          jsonb not null default '{}',
  tags              text[] not null default '{}',
  usage             jsonb not null default '{}',
  -- Everything the workflow is started with, so that a sweeper can start it when the api could not.
  start_input       jsonb not null,
  run_at            timestamptz,
  timeout_seconds   integer not null,
  total_nodes       integer not null default 0,
  started_nodes     integer not null default 0,
  completed_nodes   integer not null default 0,
  skipped_nodes     integer not null default 0,
  current_node      text,
  event_seq         integer not null default 0,
  created_at        timestamptz not null default now(),
  started_at        timestamptz,
  paused_at         timestamptz,
  finished_at       timestamptz,
  updated_at        timestamptz not null default now(),
  temporal_run_id   text,
  cancel_requested  jsonb,
  -- When the sweeper or the reconciler looks at this run next.
  check_at          timestamptz not null default now()
);
-- Ids are UUIDv7: their order is the order of creation, so they are the key of every list.
create index runs_org_idx on runs (org_id, run_id desc);
create index runs_org_project_idx on runs (org_id, project_id, run_id desc);
create index runs_org_state_idx on runs (org_id, state, run_id desc);
create index runs_org_type_idx on runs (org_id, run_type, run_id desc);
create index runs_org_user_idx on runs (org_id, user_id, run_id desc) where user_id is not null;
create index runs_parent_idx on runs (parent_run_id, run_id desc) where parent_run_id is not null;
create index runs_tags_idx on runs using gin (tags) where tags <> '{}';
create index runs_check_idx on runs (check_at) where state in ('PENDING', 'RUNNING', 'PAUSED', 'RESUMED');
create index runs_live_idx on runs (org_id, project_id) where state in ('PENDING', 'RUNNING', 'PAUSED', 'RESUMED');

-- The transitions of src/domain/runs/run.ts, and what one write may pass through at once (see COALESCED there).
create function check_run_transition() returns trigger language plpgsql as $$
begin
  if not (old.state || '>' || new.state) = any (array[
    'PENDING>RUNNING', 'PENDING>PAUSED', 'PENDING>COMPLETED', 'PENDING>FAILED', 'PENDING>CANCELLED',
    'RUNNING>PAUSED', 'RUNNING>RESUMED', 'RUNNING>COMPLETED', 'RUNNING>FAILED', 'RUNNING>CANCELLED',
    'PAUSED>RESUMED', 'PAUSED>FAILED', 'PAUSED>CANCELLED',
    'RESUMED>PAUSED', 'RESUMED>COMPLETED', 'RESUMED>FAILED', 'RESUMED>CANCELLED'
  ]) then
    raise exception 'run % cannot go from % to %', old.run_id, old.state, new.state
      using errcode = 'check_violation', constraint = 'run_transition';
  end if;
  return new;
end
$$;
create trigger runs_transition before update of state on runs for each row
  when (old.state is distinct from new.state) execute function check_run_transition();

create table node_runs (
  run_id       uuid not null references runs on delete cascade,
  path         text not null,
  org_id       uuid not null,
  node_id      text not null,
  type         text not null,
  state        text not null check (state in ('RUNNING', 'RETRYING', 'PAUSED', 'COMPLETED', 'FAILED', 'CANCELLED', 'SKIPPED')),
  attempts     integer not null default 1,
  inputs       jsonb,
  output       jsonb,
  truncated    boolean not null default false,
  error        jsonb,
  usage        jsonb,
  started_at   timestamptz,
  finished_at  timestamptz,
  primary key (run_id, path)
);

create table run_events (
  run_id  uuid not null references runs on delete cascade,
  seq     integer not null,
  org_id  uuid not null,
  type    text not null,
  at      timestamptz not null,
  data    jsonb not null,
  primary key (run_id, seq)
);

create table run_pauses (
  pause_id            uuid primary key,
  run_id              uuid not null references runs on delete cascade,
  org_id              uuid not null,
  -- The workflow that waits: the run's own, or that of a slice of a large map.
  workflow_id         text not null,
  node_id             text not null,
  path                text not null,
  kind                text not null check (kind in ('approval', 'form', 'choice')),
  message             text not null,
  data                jsonb,
  form                jsonb,
  actions             jsonb not null,
  required_approvals  integer not null default 1 check (required_approvals > 0),
  received            jsonb not null default '[]',
  expires_at          timestamptz,
  on_timeout          text not null,
  status              text not null default 'waiting' check (status in ('waiting', 'resolved', 'expired', 'cancelled')),
  resolution          jsonb,
  created_at          timestamptz not null default now(),
  resolved_at         timestamptz,
  -- When the waiting workflow was seen to have taken the resolution; until then the sweeper repeats the signal.
  delivered_at        timestamptz
);
create unique index run_pauses_path_key on run_pauses (run_id, path);
create index run_pauses_undelivered_idx on run_pauses (resolved_at) where status = 'resolved' and delivered_at is null;

-- The values of the nodes that had finished when a run failed or was cancelled, for a run that resumes from there.
create table run_checkpoints (
  run_id  uuid primary key references runs on delete cascade,
  org_id  uuid not null,
  nodes   jsonb not null
);

-- ---------------------------------------------------------------- documents uploaded to a flow's document node
create table documents (
  file_id       uuid primary key,
  org_id        uuid not null references organisations,
  project_id    uuid not null references projects,
  node_id       text not null,
  user_id       text not null,
  filename      text not null,
  mime_type     text not null,
  size          bigint not null,
  content_hash  text not null,
  blob_key      text not null,
  status        text not null default 'pending' check (status in ('pending', 'indexed', 'error')),
  error         jsonb,
  text_value    jsonb,
  pages         integer,
  created_at    timestamptz not null default now(),
  indexed_at    timestamptz
);
create index documents_handle_idx on documents (org_id, project_id, node_id, user_id, file_id);
create index documents_pending_idx on documents (created_at) where status = 'pending';

-- ---------------------------------------------------------------- outbox, idempotency, rate limits
-- Events are written in the transaction of the state they tell of; a relay turns them into webhook deliveries.
create table outbox (
  seq          bigint generated always as identity primary key,
  event_id     uuid not null unique,
  org_id       uuid not null,
  type         text not null,
  project_id   uuid,
  data         jsonb not null,
  occurred_at  timestamptz not null default now(),
  relayed_at   timestamptz
);
create index outbox_waiting_idx on outbox (seq) where relayed_at is null;

create table idempotency_keys (
  org_id        uuid not null,
  key           text not null,
  operation     text not null,
  request_hash  bytea not null,
  -- The id that whatever the request creates will have, however often it has to be tried.
  resource_id   uuid not null,
  locked_until  timestamptz,
  response      jsonb,
  created_at    timestamptz not null default now(),
  primary key (org_id, key)
);
create index idempotency_keys_age_idx on idempotency_keys (created_at);

create table rate_limits (
  key     varchar(255) primary key,
  points  integer not null default 0,
  expire  bigint
);

-- ---------------------------------------------------------------- row-level security
do $$
declare
  name text;
begin
  foreach name in array array['organisations', 'users', 'api_keys', 'oauth_tokens', 'projects', 'flow_versions', 'runs',
      'node_runs', 'run_events', 'run_pauses', 'run_checkpoints', 'documents', 'outbox', 'idempotency_keys'] loop
    execute format('alter table %I enable row level security', name);
    execute format('create policy org_rows on %I to millrace_app using (org_id = current_org()) with check (org_id = current_org())', name);
    execute format('grant select, insert, update, delete on %I to millrace_app', name);
  end loop;
end
$$;
do $$ begin execute format('grant usage on schema %I to millrace_app', current_schema()); end $$;
