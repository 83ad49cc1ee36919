-- When it was last seen to that a resource that is still to be indexed has a workflow: sweepers take turns.
alter table knowledge_resources add column checked_at timestamptz not null default now();
create index knowledge_resources_check_idx on knowledge_resources (checked_at) where status in ('pending', 'resource', 'parsed');
