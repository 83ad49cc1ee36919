-- Datasets of evals. A row is there in versions [from_version, to_version) of its dataset: a change closes what was and
-- adds what is, so that each version can be read for ever.
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

-- Imports, and the rows they have read: applied to the dataset all at once.
create table eval_imports (
  import_id   uuid primary key,
  org_id      uuid not null,
  dataset_id  uuid not null references eval_datasets,
  -- {type, blob_key | url | filter, limit}
  source      jsonb not null,
  mapping     jsonb,
  mode        text not null check (mode in ('append', 'upsert', 'replace')),
  on_error    text not null check (on_error in ('skip', 'abort')),
  dry_run     boolean not null,
  status      text not null default 'pending' check (status in ('pending', 'running', 'completed', 'failed')),
  counts      jsonb not null default '{"read": 0, "created": 0, "updated": 0, "skipped": 0, "failed": 0, "removed": 0}',
  errors      jsonb not null default '[]',
  preview     jsonb not null default '[]',
  -- The version of the dataset that it made.
  version     integer,
  created_at  timestamptz not null default now(),
  checked_at  timestamptz not null default now(),
  finished_at timestamptz
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
  primary key (import_id, line)
);
create index eval_import_rows_external_idx on eval_import_rows (import_id, external_id) where external_id is not null;

do $$
declare
  name text;
begin
  foreach name in array array['eval_datasets', 'eval_dataset_rows', 'eval_imports', 'eval_import_rows'] loop
    execute format('alter table %I enable row level security', name);
    execute format('create policy org_rows on %I to millrace_app using (org_id = current_org()) with check (org_id = current_org())', name);
    execute format('grant select, insert, update, delete on %I to millrace_app', name);
  end loop;
end
$$;
