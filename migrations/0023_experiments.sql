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
  deleted_at              timestamptz
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

do $$
declare
  name text;
begin
  foreach name in array array['experiments', 'experiment_rows', 'experiment_jobs'] loop
    execute format('alter table %I enable row level security', name);
    execute format('create policy org_rows on %I to millrace_app using (org_id = current_org()) with check (org_id = current_org())', name);
    execute format('grant select, insert, update, delete on %I to millrace_app', name);
  end loop;
end
$$;

-- A run that has had its time is removed with what was said of it.
alter table scores drop constraint scores_run_id_fkey,
  add constraint scores_run_id_fkey foreign key (run_id) references runs on delete cascade;
