-- Connections: credentials of other services, for actions, models and knowledge sources.
create table connections (
  connection_id        uuid primary key,
  org_id               uuid not null references organisations,
  name                 text not null,
  provider_id          text not null,
  scheme               text not null check (scheme in ('none', 'api_key', 'api_keys', 'basic', 'bearer', 'oauth2_client_credentials')),
  -- The whole credential as JSON, sealed under the master key: addresses and account names in it are secret, too.
  credential           bytea not null,
  -- Rises with each new credential: what is found out about an earlier one says nothing about this one.
  credential_revision  integer not null default 1,
  status               text not null default 'unverified' check (status in ('active', 'error', 'unverified', 'disabled')),
  status_reason        text,
  last_checked_at      timestamptz,
  revision             integer not null default 1,
  created_by           uuid,
  created_at           timestamptz not null default now(),
  updated_at           timestamptz not null default now()
);
create index connections_list_idx on connections (org_id, connection_id);

-- Providers that organisations made of documents of other services. Their actions are rows: there may be thousands.
create table imported_providers (
  org_id       uuid not null references organisations,
  provider_id  text not null,
  provider     jsonb not null,
  source_url   text,
  created_at   timestamptz not null default now(),
  updated_at   timestamptz not null default now(),
  primary key (org_id, provider_id)
);

create table imported_actions (
  org_id          uuid not null,
  provider_id     text not null,
  action_id       text not null,
  action          jsonb not null,
  -- As written, because jsonb sorts members: a model gives the arguments of a tool in the order of the tool's schema. Null in rows of
  -- early versions, which replaced action alone, so the text counts only while both are equal.
  written_action  json,
  primary key (org_id, provider_id, action_id),
  foreign key (org_id, provider_id) references imported_providers on delete cascade
);

-- Runs of single actions, and a note of every call that must not be made twice.
create table action_runs (
  action_run_id     uuid primary key,
  org_id            uuid not null references organisations,
  provider_id       text not null,
  action_id         text not null,
  connection_id     uuid,
  dry_run           boolean not null,
  timeout_seconds   integer not null,
  inputs            jsonb not null,
  state             text not null default 'PENDING' check (state in ('PENDING', 'RUNNING', 'COMPLETED', 'FAILED')),
  outputs           jsonb,
  error             jsonb,
  rendered_request  jsonb,
  latency_ms        integer,
  created_by        uuid,
  created_at        timestamptz not null default now(),
  -- When the sweeper last made sure of its workflow.
  swept_at          timestamptz not null default now(),
  finished_at       timestamptz
);
create index action_runs_open_idx on action_runs (swept_at) where finished_at is null;
create index action_runs_age_idx on action_runs (finished_at) where finished_at is not null;

-- Written before an action that is not idempotent is called. Whoever finds its call here does not know what became of it.
create table action_calls (
  org_id    uuid not null references organisations,
  call_key  text not null,
  begun_at  timestamptz not null default now(),
  primary key (org_id, call_key)
);
create index action_calls_age_idx on action_calls (begun_at);

-- Skills: bundles of instructions and files, in immutable versions. A version's bundle is one blob, a ZIP archive whose
-- files are stored uncompressed: it is downloaded as it is, and each file is a range of it.
create table skills (
  skill_id         uuid primary key,
  org_id           uuid not null references organisations,
  name             text not null check (name ~ '^[a-z0-9-]{1,64}$'),
  latest_version   integer not null default 1,
  default_version  integer not null default 1,
  revision         integer not null default 1,
  created_by       uuid,
  created_at       timestamptz not null default now(),
  updated_at       timestamptz not null default now()
);
create unique index skills_name_key on skills (org_id, name);
create index skills_org_idx on skills (org_id, skill_id);

create table skill_versions (
  skill_id       uuid not null references skills on delete cascade,
  version        integer not null check (version > 0),
  org_id         uuid not null,
  description    text not null,
  -- The optional members of its front matter.
  license        text,
  compatibility  text,
  metadata       jsonb not null default '{}',
  allowed_tools  text[] not null default '{}',
  content_hash   text not null,
  -- [{path, size, sha256, offset}]: where in the blob each file begins.
  files          jsonb not null,
  size           bigint not null,
  blob_key       text not null,
  created_by     uuid,
  created_at     timestamptz not null default now(),
  primary key (skill_id, version)
);
create unique index skill_versions_content_key on skill_versions (skill_id, content_hash);
