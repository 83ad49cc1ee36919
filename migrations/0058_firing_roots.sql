-- The first run of the chain in which a firing stands whose request a run has made; without a trigger, that is the key.
alter table trigger_firings add column root text;

-- The open runs of a root are counted before another one is added.
create index trigger_firings_root_idx on trigger_firings (org_id, root) where root is not null;
