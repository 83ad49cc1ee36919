-- Datasets of evals. A row is there in versions [from_version, to_version) of its dataset: a change closes what was and
-- adds what is, so that each version can be read forever.
create table eval_datasets (
  dataset_id    uuid primary key,
  org_id        uuid not null references organisations,
  name          text not null check (length(name) between 1 and 200),
  description   text not null default '',
  project_id    uuid references projects,
  input_schema  jsonb,
  metadata      jsonb not null default '{}',
  tags          text[] not null default '{}',
  -- Grows with each change of its rows; revision with each change of what is above.
  version       integer not null default 0,
  row_count     integer not null default 0,
  revision      integer not null default 1,
  created_at    timestamptz not null default now(),
  updated_at    timestamptz not null default now(),
  -- Deleted for every request from here on; housekeeping removes the rows in batches.
  deleted_at    timestamptz
);
create index eval_datasets_org_idx on eval_datasets (org_id, dataset_id) where deleted_at is null;
create index eval_datasets_deleted_idx on eval_datasets (deleted_at) where deleted_at is not null;

create table eval_dataset_rows (
  row_id            uuid not null,
  from_version      integer not null,
  to_version        integer,
  org_id            uuid not null,
  dataset_id        uuid not null references eval_datasets,
  external_id       text,
  inputs            jsonb not null,
  expected_outputs  jsonb not null default '{}',
  metadata          jsonb not null default '{}',
  split             text,
  tags              text[] not null default '{}',
  source_type       text not null check (source_type in ('manual', 'import', 'run')),
  source_run_id     uuid,
  status            text not null default 'active' check (status in ('active', 'archived')),
  -- Of the row, and of what it is in these versions.
  created_at        timestamptz not null default now(),
  updated_at        timestamptz not null default now(),
  primary key (row_id, from_version)
);
create index eval_dataset_rows_list_idx on eval_dataset_rows (dataset_id, row_id, from_version);
create unique index eval_dataset_rows_external_key on eval_dataset_rows (dataset_id, external_id)
  where to_version is null and external_id is not null;
-- What is made of a run is found by it.
create index eval_dataset_rows_source_idx on eval_dataset_rows (source_run_id) where source_run_id is not null;
-- Rows that name the run they were made from in their metadata alone are found by it, too. Longer texts there are no id, and may be too
-- long for an index.
create index eval_dataset_rows_metadata_run_idx on eval_dataset_rows (lower(metadata ->> 'run_id'))
  where length(metadata ->> 'run_id') = 36;

-- Imports, and the rows they have read: applied to the dataset all at once.
create table eval_imports (
  import_id    uuid primary key,
  org_id       uuid not null,
  dataset_id   uuid not null references eval_datasets,
  -- {type, blob_key | url | filter, limit}
  source       jsonb not null,
  mapping      jsonb,
  mode         text not null check (mode in ('append', 'upsert', 'replace')),
  -- Null where the caller did not say what is to become of records that cannot be read.
  on_error     text check (on_error in ('skip', 'abort')),
  dry_run      boolean not null,
  status       text not null default 'pending' check (status in ('pending', 'running', 'completed', 'failed')),
  counts       jsonb not null default '{"read": 0, "created": 0, "updated": 0, "skipped": 0, "failed": 0, "removed": 0}',
  errors       jsonb not null default '[]',
  preview      jsonb not null default '[]',
  -- The version of the dataset that it made.
  version      integer,
  created_at   timestamptz not null default now(),
  checked_at   timestamptz not null default now(),
  finished_at  timestamptz
);
create index eval_imports_dataset_idx on eval_imports (dataset_id);
create index eval_imports_open_idx on eval_imports (checked_at) where status in ('pending', 'running');

create table eval_import_rows (
  import_id         uuid not null references eval_imports on delete cascade,
  line              integer not null,
  org_id            uuid not null,
  row_id            uuid not null,
  external_id       text,
  inputs            jsonb not null,
  expected_outputs  jsonb not null,
  metadata          jsonb not null,
  split             text,
  tags              text[] not null,
  source_run_id     uuid,
  -- What of a row a record of an import speaks of: an upsert leaves the rest as it is.
  given             text[] not null default '{inputs,expected_outputs,metadata,split,tags}',
  primary key (import_id, line)
);
create index eval_import_rows_external_idx on eval_import_rows (import_id, external_id) where external_id is not null;

-- Evaluators in versions that never change, and what they, programs and people say of runs.
create table evaluators (
  evaluator_id  uuid primary key,
  org_id        uuid not null references organisations,
  name          text not null check (length(name) between 1 and 200),
  description   text not null default '',
  template_id   text,
  -- The present one; grows with every change.
  version       integer not null default 1,
  -- Of a webhook, what its requests are signed with.
  secret        bytea,
  created_at    timestamptz not null default now(),
  updated_at    timestamptz not null default now(),
  deleted_at    timestamptz
);
create index evaluators_org_idx on evaluators (org_id, evaluator_id) where deleted_at is null;

create table evaluator_versions (
  evaluator_id  uuid not null references evaluators,
  version       integer not null,
  org_id        uuid not null,
  -- {type, config, target, score, negate, weight}
  definition    jsonb not null,
  created_at    timestamptz not null default now(),
  primary key (evaluator_id, version)
);

create table scores (
  score_id           uuid primary key,
  org_id             uuid not null references organisations,
  -- A run that has had its time is removed with what was said of it.
  run_id             uuid not null references runs on delete cascade,
  -- Null: of the whole run.
  node_id            text,
  name               text not null,
  data_type          text not null check (data_type in ('numeric', 'boolean', 'categorical')),
  -- A number, a boolean or a text; null where there is an error.
  value              jsonb,
  -- What it counts in means: a boolean 1 or 0, a text by whether it passes.
  number             double precision,
  passed             boolean,
  label              text,
  -- Why, in words: an evaluator's reasoning, or a person's comment.
  comment            text,
  error              jsonb,
  source             text not null check (source in ('api', 'human', 'evaluator')),
  evaluator_id       uuid references evaluators,
  evaluator_version  integer,
  -- Who had it made first.
  experiment_id      uuid,
  monitor_id         uuid,
  author             text,
  metadata           jsonb not null default '{}',
  usage              jsonb,
  created_at         timestamptz not null default now(),
  -- Scores can be corrected: {by, at, value, passed, comment, error} is what was said first.
  corrected          jsonb,
  revision           integer not null default 1,
  check ((source = 'evaluator') = (evaluator_id is not null and evaluator_version is not null))
);
-- An evaluator's version scores a run once, whoever asks for it.
create unique index scores_evaluator_key on scores (run_id, evaluator_id, evaluator_version) where source = 'evaluator';
create index scores_run_idx on scores (run_id, score_id);
-- Scores are listed across runs.
create index scores_org_idx on scores (org_id, score_id);
create index scores_of_evaluator_idx on scores (evaluator_id, score_id) where evaluator_id is not null;
