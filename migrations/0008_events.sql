-- Events are written in the transaction of the state they tell of; a relay turns them into webhook deliveries. A delivery belongs to
-- one organisation together with its event and its subscription: the keys say so, whatever the code does.
-- sha256 3f7ccafd6346
\ir functions/events.sql
create table outbox (
  seq          bigint generated always as identity primary key,
  event_id     uuid not null,
  org_id       uuid not null,
  type         text not null,
  project_id   uuid,
  data         jsonb not null,
  occurred_at  timestamptz not null default now(),
  relayed_at   timestamptz,
  constraint outbox_event_key unique (event_id, org_id)
);
-- Replays look for an organisation's events of some time; housekeeping for those past theirs.
create index outbox_org_idx on outbox (org_id, seq);
-- Relays take the events of one organisation after the other.
create index outbox_waiting_org_idx on outbox (org_id, seq) where relayed_at is null;
create trigger outbox_notify after insert on outbox for each row when (new.relayed_at is null) execute function notify_event();

-- Webhook subscriptions and what is delivered to them. The events themselves are the rows of the outbox, kept for replays.
create table webhook_subscriptions (
  subscription_id        uuid primary key,
  org_id                 uuid not null references organisations,
  url                    text not null,
  events                 text[] not null,
  -- Null: events of every project, and those of none.
  project_ids            uuid[],
  description            text not null default '',
  -- Sealed under the master key, as the headers are, which may carry credentials.
  secret                 bytea not null,
  previous_secret        bytea,
  previous_secret_until  timestamptz,
  -- The rotation that put the present secret there: when its answer was lost, the repeated request finds it made.
  rotation_id            uuid,
  headers                bytea,
  header_names           text[] not null default '{}',
  status                 text not null default 'enabled' check (status in ('enabled', 'disabled')),
  disabled_reason        text check (disabled_reason in ('failing', 'gone', 'manual')),
  disabled_at            timestamptz,
  -- Since when every attempt has failed, and how many; null and 0 after a success.
  failing_since          timestamptz,
  failed_attempts        integer not null default 0,
  -- To some seconds.
  last_success_at        timestamptz,
  last_failure_at        timestamptz,
  -- The receiver asked to be left alone until then (Retry-After).
  hold_until             timestamptz,
  revision               integer not null default 1,
  created_by             uuid,
  created_at             timestamptz not null default now(),
  updated_at             timestamptz not null default now(),
  deleted_at             timestamptz,
  constraint webhook_subscriptions_org_key unique (subscription_id, org_id)
);
create index webhook_subscriptions_org_idx on webhook_subscriptions (org_id, subscription_id) where deleted_at is null;

-- The rows hold the schedule of deliveries: an open one is due at next_attempt_at, its first attempt included. Whoever makes
-- an attempt claims it first: the number of claims rises, and the delivery is due again when the claim ends unrecorded.
create table webhook_deliveries (
  delivery_id       uuid primary key,
  org_id            uuid not null,
  subscription_id   uuid not null,
  event_id          uuid not null,
  event_type        text not null,
  -- pending: waits for its first attempt. retrying: its workflow waits for the next one.
  status            text not null default 'pending' check (status in ('pending', 'retrying', 'delivered', 'failed')),
  failure_reason    text check (failure_reason in ('attempts_exhausted', 'gone', 'subscription_disabled', 'subscription_deleted')),
  -- Sent again by hand or by a replay, a delivery goes through the schedule once more.
  round             integer not null default 1,
  -- Attempts of this round, and of all.
  tries             integer not null default 0,
  attempts          integer not null default 0,
  next_attempt_at   timestamptz default now(),
  last_status_code  integer,
  last_error        text,
  created_at        timestamptz not null default now(),
  updated_at        timestamptz not null default now(),
  finished_at       timestamptz,
  claim             integer not null default 0,
  -- What makes the relay's work repeatable: one delivery per event and subscription.
  constraint webhook_deliveries_event_key unique (event_id, subscription_id),
  constraint webhook_deliveries_schedule check ((status in ('pending', 'retrying')) = (next_attempt_at is not null)),
  constraint webhook_deliveries_subscription_fkey foreign key (subscription_id, org_id)
    references webhook_subscriptions (subscription_id, org_id),
  constraint webhook_deliveries_event_fkey foreign key (event_id, org_id) references outbox (event_id, org_id)
);
create index webhook_deliveries_list_idx on webhook_deliveries (subscription_id, delivery_id);
create index webhook_deliveries_open_idx on webhook_deliveries (subscription_id, status, delivery_id) where status <> 'delivered';
create index webhook_deliveries_age_idx on webhook_deliveries (created_at);
create index webhook_deliveries_due_idx on webhook_deliveries (subscription_id, next_attempt_at, delivery_id) include (status)
  where status in ('pending', 'retrying');

create table webhook_attempts (
  delivery_id    uuid not null references webhook_deliveries on delete cascade,
  attempt        integer not null,
  org_id         uuid not null,
  at             timestamptz not null,
  duration_ms    integer not null,
  url            text not null,
  status_code    integer,
  error_code     text,
  error_message  text,
  response_body  text,
  primary key (delivery_id, attempt)
);

create table webhook_replays (
  replay_id        uuid primary key,
  org_id           uuid not null,
  subscription_id  uuid not null,
  since            timestamptz not null,
  until            timestamptz not null,
  events           text[] not null,
  only_failed      boolean not null,
  -- The outbox up to here has been looked through, and so many deliveries were queued.
  position         bigint not null default 0,
  queued           integer not null default 0,
  created_at       timestamptz not null default now(),
  finished_at      timestamptz,
  constraint webhook_replays_subscription_fkey foreign key (subscription_id, org_id)
    references webhook_subscriptions (subscription_id, org_id)
);
create index webhook_replays_open_idx on webhook_replays (created_at) where finished_at is null;
