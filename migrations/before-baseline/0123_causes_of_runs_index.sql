-- Outside a transaction: each statement commits alone.
--
-- The runs that were started with the values of a run.
create index concurrently if not exists runs_caused_by_idx on runs (caused_by) where caused_by is not null;
-- Entries about scores name the run, and keep what they were.
create index concurrently if not exists audit_log_runs_of_scores_idx
  on audit_log ((coalesce(changes #>> '{run_id,after}', changes #>> '{run_id,before}'))) where target_type = 'score';
