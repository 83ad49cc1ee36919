-- Nodes that an organisation has under way, where it or one of its keys has a quota of them.
alter table quotas drop constraint quotas_what_check;
alter table quotas add constraint quotas_what_check
  check (what in ('concurrent_runs', 'concurrent_nodes', 'runs_per_minute', 'storage_bytes', 'model_usd_month'));
-- Of all organisations: each worker reads them every few seconds.
create index quotas_nodes_idx on quotas (org_id) where what = 'concurrent_nodes';

-- The worker that executes the node extends its place; that of a worker that died expires.
create table node_places (
  place_id   uuid primary key,
  org_id     uuid not null references organisations,
  -- The key that the outermost run was started with.
  key_id     uuid,
  -- The same in every attempt of the node: whoever repeats it takes over its place.
  task       text not null,
  expires_at timestamptz not null,
  unique (org_id, task)
);
alter table node_places enable row level security;
create policy org_rows on node_places to millrace_app using (org_id = current_org()) with check (org_id = current_org());
grant select, insert, update, delete on node_places to millrace_app;

-- Takes a place for a node, with the event where that crosses 80 or 100 % of a quota. False: there is none now. `in_most`: the quota of
-- an organisation that has none of its own; null: no limit.
create function take_node_place(
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
    select run_id, parent_run_id, ran_by_type, ran_by_id, 0 as level from runs where run_id = in_run
    union all
    select r.run_id, r.parent_run_id, r.ran_by_type, r.ran_by_id, level + 1 from around join runs r on r.run_id = around.parent_run_id
  )
  select case when ran_by_type = 'org_api_key' then ran_by_id end into key from around order by level desc limit 1;
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
create function note_nodes(in_org uuid, in_key uuid, in_used int, in_most numeric, in_event uuid) returns void language plpgsql as $$
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
