-- What a model answered at each step of a node that calls tools: a worker that repeats a step whose end its predecessor could
-- not tell does not ask again.

create table agent_steps (
  run_id      uuid not null references runs on delete cascade,
  -- Place of the step in the run, e.g. "map-0[3]/llm-0/steps[2]".
  path        text not null,
  org_id      uuid not null,
  -- A reference to the blob store: what a model said may be long, or not to be read.
  answer      jsonb not null,
  created_at  timestamptz not null default now(),
  primary key (run_id, path)
);
alter table agent_steps enable row level security;
create policy org_rows on agent_steps to millrace_app using (org_id = current_org()) with check (org_id = current_org());
grant select, insert, update, delete on agent_steps to millrace_app;
