-- What is done once in a while by one of the processes that could: when it was done last.
create table housekeeping (
  job      text primary key,
  done_at  timestamptz not null
);

-- Runs that have had their time.
create index runs_finished_idx on runs (finished_at) where state in ('COMPLETED', 'FAILED', 'CANCELLED');
create index runs_resumed_from_idx on runs ((resumed_from ->> 'run_id')) where resumed_from is not null;
