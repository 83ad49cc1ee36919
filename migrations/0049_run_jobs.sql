-- One thing done with every run that a filter finds. A worker goes through them page by page, in the order of their ids.
create table run_jobs (
  job_id          uuid primary key,
  org_id          uuid not null,
  action          text not null check (action in ('cancel', 'resume', 'replay')),
  filter          jsonb not null,
  version         integer,
  state           text not null default 'PENDING' check (state in ('PENDING', 'RUNNING', 'COMPLETED', 'ABORTED', 'FAILED')),
  abort           boolean not null default false,
  matched         integer not null default 0,
  done            integer not null default 0,
  skipped         integer not null default 0,
  failed          integer not null default 0,
  errors          jsonb not null default '[]',
  -- The last run that was taken in hand.
  reached         uuid,
  -- [{run_id, new_run_id}]: the runs in hand. Whoever goes on after a crash gives the new runs the same ids.
  page            jsonb,
  created_by_type text not null,
  created_by_id   uuid not null,
  created_at      timestamptz not null default now(),
  checked_at      timestamptz not null default now(),
  finished_at     timestamptz
);
create index run_jobs_org_idx on run_jobs (org_id, job_id);
create index run_jobs_open_idx on run_jobs (checked_at) where state in ('PENDING', 'RUNNING');

-- What a job is still to deal with: exactly the runs that it has found at its beginning. Removed with its end.
create table run_job_runs (
  job_id uuid not null references run_jobs on delete cascade,
  run_id uuid not null,
  org_id uuid not null,
  primary key (job_id, run_id)
);

alter table run_jobs enable row level security;
create policy org_rows on run_jobs to millrace_app using (org_id = current_org()) with check (org_id = current_org());
grant select, insert, update, delete on run_jobs to millrace_app;
alter table run_job_runs enable row level security;
create policy org_rows on run_job_runs to millrace_app using (org_id = current_org()) with check (org_id = current_org());
grant select, insert, update, delete on run_job_runs to millrace_app;
