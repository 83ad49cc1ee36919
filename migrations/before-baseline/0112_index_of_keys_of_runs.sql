-- Outside a transaction: each statement commits alone.
--
-- The unfinished runs that a key's quota counts beside those that it has started itself.
create index concurrently if not exists runs_open_for_key_idx on runs (org_id, key_id)
  where key_id is not null and state in ('PENDING', 'RUNNING', 'PAUSED', 'RESUMED');
