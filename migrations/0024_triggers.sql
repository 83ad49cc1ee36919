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
  deleted_at        timestamptz
);
create index triggers_org_idx on triggers (org_id, id) where deleted_at is null;
create index triggers_project_idx on triggers (org_id, project_id, id) where deleted_at is null;
create unique index triggers_address_key on triggers (address_hash) where address_hash is not null;
create index triggers_unapplied_idx on triggers (updated_at) where kind in ('schedule', 'poll') and applied_revision < revision;
create index triggers_run_event_idx on triggers (org_id) where kind = 'run_event' and enabled and deleted_at is null;

-- Why a run was started: what made its trigger fire, which does so once for each key.
create table trigger_firings (
  run_id      uuid primary key,
  org_id      uuid not null,
  trigger_id  uuid not null references triggers (id),
  key         text not null,
  -- How many runs have started each other up to this one.
  depth       integer not null default 0,
  -- While the run is still to be started.
  payload     jsonb,
  due_at      timestamptz,
  attempts    integer not null default 0,
  created_at  timestamptz not null default now()
);
create unique index trigger_firings_key on trigger_firings (trigger_id, key);
create index trigger_firings_last_idx on trigger_firings (trigger_id, created_at desc);
create index trigger_firings_due_idx on trigger_firings (due_at) where due_at is not null;
create index trigger_firings_age_idx on trigger_firings (created_at);

do $$
declare
  name text;
begin
  foreach name in array array['triggers', 'trigger_firings'] loop
    execute format('alter table %I enable row level security', name);
    execute format('create policy org_rows on %I to millrace_app using (org_id = current_org()) with check (org_id = current_org())', name);
    execute format('grant select, insert, update, delete on %I to millrace_app', name);
  end loop;
end
$$;

-- Workers are told of new events where somebody waits for them: a subscription, or from here on a trigger.
create or replace function notify_event() returns trigger language plpgsql as $$
begin
  if exists (select from webhook_subscriptions s where s.org_id = new.org_id and s.status = 'enabled' and s.deleted_at is null)
    or exists (select from triggers t where t.org_id = new.org_id and t.kind = 'run_event' and t.enabled and t.deleted_at is null) then
    perform pg_notify('millrace_webhooks', 'events');
  end if;
  return null;
end
$$;
