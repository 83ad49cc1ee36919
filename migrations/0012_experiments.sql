-- Experiments: the rows of a dataset's version, run by a flow's version and scored by versions of evaluators.
create table experiments (
  experiment_id           uuid primary key,
  org_id                  uuid not null references organisations,
  name                    text not null check (length(name) between 1 and 200),
  description             text not null default '',
  project_id              uuid not null references projects,
  flow_version            integer not null,
  dataset_id              uuid not null references eval_datasets,
  dataset_version         integer not null,
  -- Null: all rows.
  splits                  text[],
  -- [{evaluator_id, version}]
  evaluators              jsonb not null,
  repetitions             integer not null check (repetitions between 1 and 100),
  max_concurrency         integer not null check (max_concurrency between 1 and 1000),
  baseline_experiment_id  uuid references experiments,
  gates                   jsonb not null default '[]',
  max_cost_usd            double precision,
  state                   text not null default 'DRAFT'
                          check (state in ('DRAFT', 'QUEUED', 'RUNNING', 'COMPLETED', 'PARTIAL', 'FAILED', 'CANCELLED')),
  verdict                 text check (verdict in ('passed', 'failed', 'inconclusive')),
  error                   jsonb,
  -- Of runs and judges, so far.
  cost_usd                double precision not null default 0,
  -- The status as it was at the end of the last job.
  result                  jsonb,
  revision                integer not null default 1,
  created_at              timestamptz not null default now(),
  updated_at              timestamptz not null default now(),
  started_at              timestamptz,
  finished_at             timestamptz,
  deleted_at              timestamptz,
  -- What an experiment's scores come to so far is worked out once in a while as it runs, not for each reader.
  progress                jsonb,
  progress_due_at         timestamptz
);
create index experiments_org_idx on experiments (org_id, experiment_id) where deleted_at is null;
create index experiments_dataset_idx on experiments (dataset_id) where deleted_at is null;

-- One row of the dataset in one repetition. Its run is made once: the id is written with it.
create table experiment_rows (
  experiment_id  uuid not null references experiments on delete cascade,
  place          integer not null,
  org_id         uuid not null,
  row_id         uuid not null,
  repetition     integer not null,
  -- Grows when a job runs it again.
  attempt        integer not null default 1,
  run_id         uuid,
  state          text not null default 'pending' check (state in ('pending', 'running', 'completed', 'failed', 'cancelled')),
  -- Whether its evaluators have had their say.
  scored         boolean not null default false,
  error          jsonb,
  latency_ms     double precision,
  cost_usd       double precision,
  tokens         bigint,
  primary key (experiment_id, place),
  unique (experiment_id, row_id, repetition)
);
create index experiment_rows_open_idx on experiment_rows (experiment_id, place) where state in ('pending', 'running') or not scored;

create table experiment_jobs (
  job_id         uuid primary key,
  experiment_id  uuid not null references experiments on delete cascade,
  org_id         uuid not null,
  kind           text not null check (kind in ('run', 'rerun_failed', 'rerun_rows', 'score_only', 'export', 'cancel')),
  -- {row_ids, evaluator_ids, format}
  options        jsonb not null default '{}',
  state          text not null default 'pending' check (state in ('pending', 'running', 'completed', 'failed', 'cancelled')),
  done           integer not null default 0,
  total          integer not null default 0,
  errors         jsonb not null default '[]',
  cancel         boolean not null default false,
  blob_key       text,
  created_at     timestamptz not null default now(),
  checked_at     timestamptz not null default now(),
  finished_at    timestamptz
);
create index experiment_jobs_experiment_idx on experiment_jobs (experiment_id, job_id);
create index experiment_jobs_open_idx on experiment_jobs (checked_at) where state in ('pending', 'running');

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
  deleted_at        timestamptz,
  -- Why a monitor has not scored its runs, or looked at its alert, when it last should have.
  last_error        text,
  last_error_at     timestamptz,
  -- What Temporal has refused as a schedule is not asked again until the monitor is changed.
  refused_revision  integer,
  -- Of the runs that it scores.
  environment       text not null default 'production'
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
