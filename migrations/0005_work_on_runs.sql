-- One thing done with every run that a filter finds. A worker goes through them page by page, in the order of their ids.
create table run_jobs (
  job_id           uuid primary key,
  org_id           uuid not null,
  action           text not null check (action in ('cancel', 'resume', 'replay')),
  filter           jsonb not null,
  version          integer,
  state            text not null default 'PENDING' check (state in ('PENDING', 'RUNNING', 'COMPLETED', 'ABORTED', 'FAILED')),
  abort            boolean not null default false,
  matched          integer not null default 0,
  done             integer not null default 0,
  skipped          integer not null default 0,
  failed           integer not null default 0,
  errors           jsonb not null default '[]',
  -- The last run that was taken in hand.
  reached          uuid,
  -- [{run_id, new_run_id}]: the runs in hand. Whoever continues after a crash gives the new runs the same ids.
  page             jsonb,
  created_by_type  text not null,
  created_by_id    uuid not null,
  created_at       timestamptz not null default now(),
  checked_at       timestamptz not null default now(),
  finished_at      timestamptz
);
create index run_jobs_org_idx on run_jobs (org_id, job_id);
create index run_jobs_open_idx on run_jobs (checked_at) where state in ('PENDING', 'RUNNING');

-- What a job is still to deal with: exactly the runs that it has found at its beginning. Removed with its end.
create table run_job_runs (
  job_id  uuid not null references run_jobs on delete cascade,
  run_id  uuid not null,
  org_id  uuid not null,
  primary key (job_id, run_id)
);

-- The runs that pinned values of a run were copied from: who erases the one erases the other. Without a foreign key to `runs`:
-- its source may be removed before it.
create table run_pins (
  run_id         uuid not null,
  source_run_id  uuid not null,
  org_id         uuid not null references organisations,
  primary key (run_id, source_run_id)
);
create index run_pins_source_idx on run_pins (source_run_id);

-- The user whose run retention has removed, for as long as something made from it may be left: by this an erasure finds it.
create table removed_runs (
  run_id      uuid,
  org_id      uuid not null references organisations,
  project_id  uuid not null,
  -- As in `erasures`: who knows the user's id recognises it.
  user_hash   text not null,
  -- When a process last looked whether anything made from it is left.
  looked_at   timestamptz not null default now(),
  -- A run may have held values of several users.
  primary key (run_id, user_hash)
);
create index removed_runs_user_idx on removed_runs (org_id, user_hash);
create index removed_runs_looked_idx on removed_runs (looked_at);

-- Documents uploaded to a flow's document node.
create table documents (
  file_id       uuid primary key,
  org_id        uuid not null references organisations,
  project_id    uuid not null references projects,
  node_id       text not null,
  user_id       text not null,
  filename      text not null,
  mime_type     text not null,
  size          bigint not null,
  content_hash  text not null,
  blob_key      text not null,
  status        text not null default 'pending' check (status in ('pending', 'indexed', 'error')),
  error         jsonb,
  text_value    jsonb,
  pages         integer,
  created_at    timestamptz not null default now(),
  indexed_at    timestamptz,
  -- The charset that an uploaded file was declared with, for texts that are not UTF-8.
  charset       text
);
create index documents_handle_idx on documents (org_id, project_id, node_id, user_id, file_id);
create index documents_pending_idx on documents (created_at) where status = 'pending';
