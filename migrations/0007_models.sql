-- Calls of models: what each cost, and which connection an organisation's nodes use where they name none.
create table organisation_settings (
  org_id                 uuid primary key references organisations,
  default_connection_id  uuid references connections on delete set null,
  default_model          text,
  updated_at             timestamptz not null default now()
);

-- Append-only: one row a call that may have been paid for.
create table model_calls (
  call_id        uuid primary key,
  org_id         uuid not null references organisations,
  project_id     uuid,
  -- Null for judges of evaluators: they call models for no run, whose usage they are not, and a sample written by hand has no project.
  run_id         uuid,
  -- Place of the node in the run, e.g. "map-0[3]/llm-0"; attempt of the node, and step of its conversation, from 1.
  path           text not null,
  attempt        integer not null,
  step           integer not null,
  model          text not null,
  connection_id  uuid,
  input_tokens   bigint not null,
  output_tokens  bigint not null,
  cached_tokens  bigint not null,
  -- Null where the model has no price.
  cost_usd       numeric(18, 9),
  latency_ms     integer not null,
  -- Why the model stopped, or the code of the failure.
  finish_reason  text not null,
  -- Whether the tokens are estimated from the length of the texts, because the endpoint could not say.
  estimated      boolean not null,
  created_at     timestamptz not null default now(),
  -- The key that the outermost run of a call was started with.
  key_id         uuid
);
create index model_calls_run_idx on model_calls (run_id);
create index model_calls_org_idx on model_calls (org_id, created_at);

-- Quotas of organisations and keys, and what is used of them.
create table quotas (
  org_id  uuid not null references organisations,
  -- Null: of the whole organisation.
  key_id  uuid references api_keys,
  what    text not null check (what in ('concurrent_runs', 'concurrent_nodes', 'runs_per_minute', 'storage_bytes', 'model_usd_month')),
  most    numeric not null check (most >= 0),
  unique nulls not distinct (org_id, key_id, what)
);
-- Of all organisations: each worker reads them every few seconds.
create index quotas_nodes_idx on quotas (org_id) where what = 'concurrent_nodes';

create table quota_usage (
  org_id       uuid not null references organisations,
  key_id       uuid references api_keys,
  what         text not null,
  -- Beginning of the time that `used` is of: a minute, a month; of what is not of a time, when it was counted.
  period       timestamptz not null,
  used         numeric not null,
  -- 1: the warning was given, 2: that the quota is reached.
  notified     smallint not null default 0,
  notified_at  timestamptz,
  unique nulls not distinct (org_id, key_id, what)
);

-- What calls of models in progress may cost at most. Each is replaced by the call's cost; one whose process died expires.
create table cost_reservations (
  call_id     uuid primary key,
  org_id      uuid not null references organisations,
  key_id      uuid,
  run_id      uuid,
  path        text not null,
  amount      numeric not null,
  expires_at  timestamptz not null
);
create index cost_reservations_org_idx on cost_reservations (org_id);
create index cost_reservations_run_idx on cost_reservations (run_id);

-- Nodes that an organisation is running, where it or one of its keys has a quota of them. The worker that executes the node
-- extends its place; that of a worker that died expires.
create table node_places (
  place_id    uuid primary key,
  org_id      uuid not null references organisations,
  -- The key that the outermost run was started with.
  key_id      uuid,
  -- The same in every attempt of the node: whoever repeats it takes over its place.
  task        text not null,
  expires_at  timestamptz not null,
  unique (org_id, task)
);
