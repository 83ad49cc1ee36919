-- Outside a transaction: each statement commits alone.
--
-- Which documents of drafts runs still use.
create index concurrently if not exists runs_of_drafts_idx on runs (project_id, flow_version) where flow_version < -1;
