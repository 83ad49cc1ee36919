-- The traces that runs belong to, where a request or another run has begun them while traces are exported. The trace of any other run
-- follows from its id.
create table run_traces (
  run_id        uuid primary key references runs (run_id) on delete cascade,
  org_id        uuid not null references organisations,
  trace_id      text,
  parent_id     text,
  sampled       boolean,
  -- The run that it repeats.
  linked_run_id uuid
);
alter table run_traces enable row level security;
create policy org_rows on run_traces to millrace_app using (org_id = current_org()) with check (org_id = current_org());
grant select, insert, delete on run_traces to millrace_app;
