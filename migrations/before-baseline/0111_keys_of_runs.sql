-- The key whose quotas count a run that it has not started itself: a run of the key has started it, or the key has fired a trigger.

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
alter table runs add column key_id uuid;

-- As before, but for the key of the outermost run.
create or replace function take_node_place(
  in_org uuid, in_place uuid, in_task text, in_run uuid, in_seconds float8, in_most numeric, in_org_event uuid, in_key_event uuid
) returns boolean language plpgsql as $$
declare
  org_most numeric := coalesce((select most from quotas where org_id = in_org and key_id is null and what = 'concurrent_nodes'), in_most);
  key_most numeric;
  key uuid;
  of_org int;
  of_key int;
begin
  with recursive around as (
    select run_id, parent_run_id, key_id, ran_by_type, ran_by_id, 0 as level from runs where run_id = in_run
    union all
    select r.run_id, r.parent_run_id, r.key_id, r.ran_by_type, r.ran_by_id, level + 1
    from around join runs r on r.run_id = around.parent_run_id
  )
  select coalesce(key_id, case when ran_by_type = 'org_api_key' then ran_by_id end) into key from around order by level desc limit 1;
  key_most := (select most from quotas where org_id = in_org and key_id = key and what = 'concurrent_nodes');
  perform pg_advisory_xact_lock(hashtextextended('nodes of ' || in_org::text, 0));
  -- A statement of its own: it sees what whoever had the lock has done.
  select 1 + count(*), 1 + count(*) filter (where key_id = key) into of_org, of_key
  from node_places where org_id = in_org and task <> in_task and expires_at > clock_timestamp();
  if of_org > org_most or of_key > key_most then return false; end if;
  insert into node_places (place_id, org_id, key_id, task, expires_at)
  values (in_place, in_org, key, in_task, clock_timestamp() + make_interval(secs => in_seconds))
  on conflict (org_id, task) do update set place_id = excluded.place_id, expires_at = excluded.expires_at;
  perform note_nodes(in_org, null, of_org, org_most, in_org_event);
  perform note_nodes(in_org, key, of_key, key_most, in_key_event);
  return true;
end
$$;
