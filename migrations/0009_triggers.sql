-- Triggers start runs: by schedule, by an inbound webhook, when another run ends, or when what is polled changes.
create table triggers (
  id                uuid primary key,
  org_id            uuid not null references organisations,
  project_id        uuid not null references projects,
  provider_id       text not null,
  -- What kind of trigger of the provider it is, e.g. "schedule".
  trigger_id        text not null,
  kind              text not null check (kind in ('schedule', 'webhook', 'run_event', 'poll')),
  config            jsonb not null,
  -- Expressions by the id of the input node they make the value of.
  inputs            jsonb not null default '{}',
  enabled           boolean not null default true,
  -- Of an inbound address only its SHA-256 is kept.
  address_hash      bytea,
  -- What inbound webhooks are signed with, sealed under the master key.
  secret            bytea,
  -- What a poll saw last.
  seen              jsonb,
  last_error        text,
  last_error_at     timestamptz,
  revision          integer not null default 1,
  -- The revision that Temporal's schedule was made of; kinds without one need none.
  applied_revision  integer not null default 0,
  created_by        uuid,
  created_at        timestamptz not null default now(),
  updated_at        timestamptz not null default now(),
  deleted_at        timestamptz,
  -- The revision of a trigger whose schedule Temporal has refused: it is not asked again until the trigger is changed.
  refused_revision  integer,
  -- The rights of who set it, as in flow_versions.
  rights            jsonb,
  environment       text not null default 'production'
);
create index triggers_org_idx on triggers (org_id, id) where deleted_at is null;
create index triggers_project_idx on triggers (org_id, project_id, id) where deleted_at is null;
create unique index triggers_address_key on triggers (address_hash) where address_hash is not null;
create index triggers_unapplied_idx on triggers (updated_at) where kind in ('schedule', 'poll') and applied_revision < revision;
create index triggers_run_event_idx on triggers (org_id) where kind = 'run_event' and enabled and deleted_at is null;
-- A connection that a trigger uses stays.
create index triggers_connection_idx on triggers (org_id, (config->>'connection_id')) where deleted_at is null and config ? 'connection_id';

-- Why a run was started: what made its trigger fire, which does so once for each key.
create table trigger_firings (
  run_id      uuid primary key,
  org_id      uuid not null,
  -- Null where an action of another run, and no trigger, has started it: how deep it is counts as well.
  trigger_id  uuid references triggers (id),
  key         text not null,
  -- How many runs have started each other up to this one.
  depth       integer not null default 0,
  -- While the run is still to be started.
  payload     jsonb,
  due_at      timestamptz,
  attempts    integer not null default 0,
  created_at  timestamptz not null default now(),
  -- The first run of the chain in which a firing stands whose request a run has made; without a trigger, that is the key.
  root        text,
  -- What became of a firing, for the list of a trigger's firings. `started`: it has a run; `failed`: it has none, and error
  -- says why.
  state       text not null default 'pending' check (state in ('pending', 'started', 'failed')),
  error       text,
  -- The firing whose payload a person had repeated.
  repeat_of   uuid
);
create unique index trigger_firings_key on trigger_firings (trigger_id, key);
create index trigger_firings_due_idx on trigger_firings (due_at) where due_at is not null;
create index trigger_firings_age_idx on trigger_firings (created_at);
-- The open runs of a root are counted before another one is added.
create index trigger_firings_root_idx on trigger_firings (org_id, root) where root is not null;
create index trigger_firings_org_key_idx on trigger_firings (org_id, key);
create index trigger_firings_page_idx on trigger_firings (trigger_id, run_id);
create index trigger_firings_state_idx on trigger_firings (trigger_id, state, run_id);
-- For the last run of a trigger, however many firings have failed since.
create index trigger_firings_last_idx on trigger_firings (trigger_id, created_at desc) where state <> 'failed';
-- What was made from a firing is erased with it.
create index trigger_firings_repeat_idx on trigger_firings (repeat_of) where repeat_of is not null;
