-- What is done once in a while by one of the processes that could: when it was done last.
create table housekeeping (
  job      text primary key,
  done_at  timestamptz not null
);

-- How long runs are kept, where an organisation or a project says so itself.
create table retention_policies (
  org_id      uuid not null references organisations,
  -- Null: of the whole organisation.
  project_id  uuid references projects on delete cascade,
  -- Days after a run's end.
  run_days    integer not null check (run_days between 1 and 36500),
  updated_at  timestamptz not null default now(),
  unique nulls not distinct (org_id, project_id)
);

-- What removes everything of one end user from an organisation or a project, and its report.
create table erasures (
  erasure_id       uuid primary key,
  org_id           uuid not null references organisations,
  -- Null: in all projects.
  project_id       uuid references projects on delete cascade,
  -- Null once it is done: from then on there is only its hash.
  user_id          text,
  user_hash        text not null,
  state            text not null default 'PENDING' check (state in ('PENDING', 'RUNNING', 'COMPLETED')),
  -- Where it continues; see src/domain/erasures/erasure.ts.
  progress         jsonb not null,
  -- By store, how much has been removed. Written with what it counts.
  removed          jsonb not null default '{}',
  remaining        jsonb not null default '[]',
  problem          text,
  created_by_type  text not null,
  created_by_id    uuid not null,
  created_at       timestamptz not null default now(),
  started_at       timestamptz,
  finished_at      timestamptz,
  -- Until then one process has it in hand.
  leased_until     timestamptz not null default now(),
  -- Whoever works on an erasure writes only while the row has the claim: after a pause, another process may have it.
  claim            uuid,
  check ((user_id is null) = (finished_at is not null))
);
create index erasures_org_idx on erasures (org_id, erasure_id);
create unique index erasures_open_key on erasures (org_id, user_id, project_id) nulls not distinct where finished_at is null;

-- What is found. Removed with the end of the erasure.
create table erasure_items (
  erasure_id   uuid not null references erasures on delete cascade,
  org_id       uuid not null,
  -- history: an execution that was counted, so that a worker that dies counts none twice.
  kind         text not null check (kind in ('run', 'document', 'dataset_row', 'score', 'experiment_job', 'history')),
  item_id      uuid not null,
  removed      boolean not null default false,
  -- Whether Temporal may have a workflow of it.
  has_history  boolean not null,
  primary key (erasure_id, item_id)
);
create index erasure_items_left_idx on erasure_items (erasure_id, kind, item_id) where not removed;
create index erasure_items_histories_idx on erasure_items (erasure_id, item_id) where has_history;

-- Keys that removed rows referred to: the blobs go unless other rows refer to them.
create table erasure_blobs (
  erasure_id  uuid not null references erasures on delete cascade,
  org_id      uuid not null,
  key         text not null,
  primary key (erasure_id, key)
);
