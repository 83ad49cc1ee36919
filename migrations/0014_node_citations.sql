-- The passages that a node's value rests on, without their text. A run lists them once it has ended or waits for people.
alter table node_runs add column citations jsonb;
create index node_runs_citations_idx on node_runs (run_id) where citations is not null;
