-- When the workflow of an erasure was last looked for.
alter table erasures add column checked_at timestamptz not null default now();
