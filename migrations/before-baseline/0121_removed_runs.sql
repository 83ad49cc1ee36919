-- The run whose values a run was started with, by a trigger or a call. The firing says so, too, but only as long as events are kept.

-- Whoever writes runs waits behind this. Behind a long read, such as a backup's, rather nothing is done: it can be repeated.
do $$
begin
  for attempt in 1..20 loop
    begin
      perform set_config('lock_timeout', '250ms', true);
      lock table runs in access exclusive mode;
      return;
    exception when lock_not_available then
      perform pg_sleep(0.5);
    end;
  end loop;
  raise lock_not_available using message = 'others use the table of runs all the time: repeat this when the backup, or other long read, is done';
end
$$;
alter table runs add column caused_by uuid;

-- Whose a run was that retention has removed, for as long as something made from it may be left: by this an erasure finds it.
create table removed_runs (
  run_id      uuid primary key,
  org_id      uuid not null references organisations,
  project_id  uuid not null,
  -- As in `erasures`: who knows the user's id recognises it.
  user_hash   text not null,
  -- When somebody last looked whether anything made from it is left.
  looked_at   timestamptz not null default now()
);
create index removed_runs_user_idx on removed_runs (org_id, user_hash);
create index removed_runs_looked_idx on removed_runs (looked_at);
alter table removed_runs enable row level security;
create policy org_rows on removed_runs to millrace_app using (org_id = current_org()) with check (org_id = current_org());
grant select, insert, update, delete on removed_runs to millrace_app;
