-- Outside a transaction: each statement commits alone.
--
-- Lists of the runs of an environment. Most runs are in production: they are found by the index of all runs.
create index concurrently if not exists runs_of_environments_idx on runs (org_id, environment, run_id) where environment <> 'production';
