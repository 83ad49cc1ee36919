-- Monitors: a part of the runs of production, scored as they end, and an alert on what the scores say.
create table eval_monitors (
  monitor_id        uuid primary key,
  org_id            uuid not null references organisations,
  name              text not null check (length(name) between 1 and 200),
  description       text not null default '',
  project_id        uuid not null references projects,
  -- Null: all.
  flow_versions     integer[],
  -- [{evaluator_id, version}]
  evaluators        jsonb not null,
  sampling_rate     double precision not null check (sampling_rate between 0 and 1),
  -- {states, run_types, user_ids, tags, metadata}
  filter            jsonb not null,
  max_per_hour      integer not null,
  enabled           boolean not null,
  alert             jsonb not null,
  alert_state       jsonb not null,
  revision          integer not null default 1,
  -- The revision that Temporal's schedule was made of.
  applied_revision  integer not null default 0,
  created_at        timestamptz not null default now(),
  updated_at        timestamptz not null default now(),
  deleted_at        timestamptz
);
create index eval_monitors_org_idx on eval_monitors (org_id, monitor_id) where deleted_at is null;
create index eval_monitors_project_idx on eval_monitors (project_id) where enabled and deleted_at is null;
create index eval_monitors_unapplied_idx on eval_monitors (updated_at) where applied_revision < revision;
create index eval_monitors_deleted_idx on eval_monitors (deleted_at) where deleted_at is not null;

-- What a monitor has seen of the runs that ended in an hour.
create table eval_monitor_hours (
  monitor_id  uuid not null references eval_monitors,
  hour        timestamptz not null,
  org_id      uuid not null,
  eligible    integer not null default 0,
  sampled     integer not null default 0,
  -- How many of those last asked for the hour had left.
  granted     integer not null default 0,
  scored      integer not null default 0,
  errored     integer not null default 0,
  primary key (monitor_id, hour)
);
create index eval_monitor_hours_age_idx on eval_monitor_hours (hour);

-- The runs that it has taken.
create table eval_monitor_runs (
  monitor_id    uuid not null references eval_monitors,
  run_id        uuid not null references runs on delete cascade,
  org_id        uuid not null,
  flow_version  integer not null,
  ended_at      timestamptz not null,
  attempts      integer not null default 0,
  scored_at     timestamptz,
  primary key (monitor_id, run_id)
);
create index eval_monitor_runs_run_idx on eval_monitor_runs (run_id);
create index eval_monitor_runs_open_idx on eval_monitor_runs (monitor_id, run_id) where scored_at is null;
create index eval_monitor_runs_age_idx on eval_monitor_runs (ended_at);

-- What its evaluators said of them, as statistics need it: it outlives the runs.
create table eval_monitor_scores (
  monitor_id         uuid not null references eval_monitors,
  run_id             uuid not null,
  evaluator_id       uuid not null,
  evaluator_version  integer not null,
  org_id             uuid not null,
  flow_version       integer not null,
  ended_at           timestamptz not null,
  number             double precision,
  passed             boolean,
  failed             boolean not null,
  primary key (monitor_id, run_id, evaluator_id)
);
-- All that statistics read is in it.
create index eval_monitor_scores_time_idx on eval_monitor_scores (monitor_id, evaluator_id, ended_at)
  include (number, passed, failed, flow_version, org_id, run_id);
create index eval_monitor_scores_age_idx on eval_monitor_scores (ended_at);

do $$
declare
  name text;
begin
  foreach name in array array['eval_monitors', 'eval_monitor_hours', 'eval_monitor_runs', 'eval_monitor_scores'] loop
    execute format('alter table %I enable row level security', name);
    execute format('create policy org_rows on %I to millrace_app using (org_id = current_org()) with check (org_id = current_org())', name);
    execute format('grant select, insert, update, delete on %I to millrace_app', name);
  end loop;
end
$$;
