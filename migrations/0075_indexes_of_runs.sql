-- Outside a transaction: each statement commits alone.
--
-- Indexes of runs, which may be millions, while others read and write. Databases of before have some of them.

-- The sweep looks at the oldest runs of each project.
create index concurrently if not exists runs_project_finished_idx on runs (project_id, finished_at)
  where state in ('COMPLETED', 'FAILED', 'CANCELLED');

-- Runs that have ended long after the time of their id: of a partition's runs all others ended a day after its end, at most.
create index concurrently if not exists runs_late_idx on runs (run_id)
  where finished_at is not null and finished_at - run_time(run_id) > interval '24 hours';

-- All runs that experiments have made of a row of a dataset.
create index concurrently if not exists runs_dataset_row_idx on runs ((metadata ->> 'row_id')) where run_type = 'batch';
