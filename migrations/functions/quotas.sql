-- Notes what is used of a quota, and writes the event where a use crosses 80 or 100 % of it. Answers what is used then. `in_add`: `in_used`
-- is added to what the same period has. The row stays locked until the transaction ends.
create or replace function use_quota(
  in_org uuid, in_key uuid, in_what text, in_period timestamptz, in_used numeric, in_add boolean, in_most numeric,
  in_resets_at timestamptz, in_event_id uuid
) returns numeric language plpgsql as $$
declare
  usage quota_usage;
  level smallint;
begin
  insert into quota_usage as u (org_id, key_id, what, period, used) values (in_org, in_key, in_what, in_period, round(in_used, 9))
  on conflict (org_id, key_id, what) do update set
    used = case when in_add and (in_resets_at is null or u.period >= excluded.period) then u.used + excluded.used else excluded.used end,
    period = case when in_add and in_resets_at is null then u.period else greatest(u.period, excluded.period) end,
    -- Of one minute after the other no more is said than once an hour; of a new month everything again.
    notified = case when in_resets_at is not null and u.period < excluded.period
        and (in_what <> 'runs_per_minute' or u.notified_at < now() - interval '1 hour')
      then 0 else u.notified end
  returning * into usage;
  if in_most is null then return usage.used; end if;
  level := case when usage.used >= in_most then 2 when usage.used >= 0.8 * in_most then 1 else 0 end;
  if level > usage.notified then
    insert into outbox (event_id, org_id, type, data)
    values (in_event_id, in_org, case level when 2 then 'quota.reached' else 'quota.warning' end,
      jsonb_build_object('quota', in_what, 'key_id', in_key, 'limit', in_most, 'used', usage.used, 'resets_at', in_resets_at));
  end if;
  -- What goes down again is told of again when half of it was free meanwhile.
  if level > usage.notified or usage.notified > 0 and not in_add and usage.used < 0.5 * in_most then
    update quota_usage set notified = level, notified_at = now()
    where org_id = in_org and key_id is not distinct from in_key and what = in_what;
  end if;
  return usage.used;
end
$$;

-- Takes a place for a node, with the event where that crosses 80 or 100 % of a quota. False: there is none now. `in_most`: the quota of
-- an organisation that has none of its own; null: no limit.
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

-- Nodes come and go fast: no more is told than once an hour, and otherwise nothing is written.
create or replace function note_nodes(in_org uuid, in_key uuid, in_used int, in_most numeric, in_event uuid) returns void language plpgsql as $$
begin
  if in_most is null then return; end if;
  if in_used - 1 < 0.5 * in_most then
    update quota_usage set notified = 0
    where org_id = in_org and key_id is not distinct from in_key and what = 'concurrent_nodes'
      and notified > 0 and notified_at < now() - interval '1 hour';
  end if;
  if in_used >= 0.8 * in_most and not exists (
    select from quota_usage
    where org_id = in_org and key_id is not distinct from in_key and what = 'concurrent_nodes' and notified = 2
  ) then
    perform use_quota(in_org, in_key, 'concurrent_nodes', clock_timestamp(), in_used, false, in_most, null, in_event);
  end if;
end
$$;
