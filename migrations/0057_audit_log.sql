-- Who has changed what, or read a secret or an export. Rows are written with the change itself and never changed; housekeeping
-- removes old ones where the installation says how long they are kept. Nothing refers to what is named: it outlives that.
create table audit_log (
  entry_id     uuid primary key,
  org_id       uuid not null references organisations,
  at           timestamptz not null default now(),
  actor_type   text not null check (actor_type in ('user', 'org_api_key', 'system', 'cli')),
  -- Null of a sign-in that failed, and of what no user and no key has done.
  actor_id     uuid,
  session_id   uuid,
  address      text,
  user_agent   text,
  request_id   text,
  operation    text not null,
  target_type  text,
  -- Most ids are UUIDs; providers have names.
  target_id    text,
  outcome      text not null check (outcome in ('success', 'failure')),
  -- By field: {"before": ..., "after": ...}; empty where there is nothing to compare.
  changes      jsonb not null default '{}'
);
create index audit_log_org_idx on audit_log (org_id, entry_id);
create index audit_log_target_idx on audit_log (org_id, target_id, entry_id);
create index audit_log_at_idx on audit_log (at);
alter table audit_log enable row level security;
create policy org_rows on audit_log to millrace_app using (org_id = current_org()) with check (org_id = current_org());
grant select, insert on audit_log to millrace_app;

create function refuse_update() returns trigger language plpgsql as $$
begin
  raise exception '% is never changed', tg_table_name using errcode = 'insufficient_privilege';
end $$;
create trigger audit_log_never_changed before update on audit_log for each statement execute function refuse_update();
