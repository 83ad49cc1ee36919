-- Workflows that have to be started. A row is written in the transaction that wants the work, and deleted once Temporal has accepted the
-- workflow, so no work is lost if the process or Temporal fails in between.
create table workflow_starts (
  kind        text not null,
  -- The row whose work the workflow does.
  id          uuid not null,
  org_id      uuid not null references organisations,
  -- The smallest number is started first.
  urgency     smallint not null,
  -- IDs and settings. Texts of people stay in the row whose work it is.
  input       jsonb not null,
  due_at      timestamptz not null default now(),
  attempts    integer not null default 0,
  last_error  text,
  primary key (id, kind)
);
create index workflow_starts_due_idx on workflow_starts (due_at);

alter table workflow_starts enable row level security;
create policy org_rows on workflow_starts to millrace_app using (org_id = current_org()) with check (org_id = current_org());
grant select, insert, update, delete on workflow_starts to millrace_app;
