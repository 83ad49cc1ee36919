-- When a node that failed is tried again; null while an attempt is under way, and once it has ended.
alter table node_runs add column next_attempt_at timestamptz;
-- What runs wait for, and which of them are stuck. Few rows are in it at any time.
create index node_runs_retrying_idx on node_runs (run_id) where state = 'RETRYING';
