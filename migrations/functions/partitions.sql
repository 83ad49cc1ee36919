-- The partitions with bounds. Without a lower one: the first.
create or replace function run_partitions() returns table (parent text, name text, lower uuid, upper uuid) language sql stable as $$
  select p.relname::text, c.relname::text, substring(b.bounds from 'FROM \(''([0-9a-f-]{36})''')::uuid,
    substring(b.bounds from 'TO \(''([0-9a-f-]{36})''')::uuid
  from unnest(array['run_events', 'node_runs', 'agent_steps']) as t
    join pg_class p on p.oid = to_regclass(t)
    join pg_inherits i on i.inhparent = p.oid
    join pg_class c on c.oid = i.inhrelid
    cross join lateral (select pg_get_expr(c.relpartbound, c.oid) as bounds) b
  where b.bounds <> 'DEFAULT'
$$;

-- Makes one partition, where those that there are do not reach four weeks ahead; answers its name. Each is one more to look into for a
-- statement that is planned for any run, and what has to be removed waits for the end of its partition: of a week where runs are
-- kept for up to 180 days, else of four. null: they are kept for ever.
create or replace function make_run_partition(in_days integer) returns text language plpgsql security definer set lock_timeout = '250ms' as $$
declare
  width interval := case when in_days <= 180 then interval '7 days' else interval '28 days' end;
  in_table text;
  part text;
  since timestamptz;
  until timestamptz;
  occupied boolean;
begin
  if not pg_try_advisory_xact_lock(5217730002) then return null; end if;
  foreach in_table in array array['run_events', 'node_runs', 'agent_steps'] loop
    since := (select coalesce(run_time(max(p.upper::text)::uuid), date_bin('7 days', now(), '2024-01-01 00:00:00+00'))
      from run_partitions() p where p.parent = in_table);
    while since < now() + interval '28 days' loop
      until := date_bin(width, since, '2024-01-01 00:00:00+00') + width;
      -- Nobody has made partitions for weeks: what was written meanwhile stays where it is.
      execute format('select exists (select from %I where run_id >= $1 and run_id < $2)', in_table || '_other')
        into occupied using first_run_id(since), first_run_id(until);
      if not occupied then
        -- In the order of every write of a run: the foreign key takes the first.
        lock table runs in share row exclusive mode;
        part := in_table || to_char(since at time zone 'UTC', '_YYYYMMDD');
        execute format('create table %I partition of %I for values from (%L) to (%L)', part, in_table, first_run_id(since), first_run_id(until));
        execute format('alter table %I enable row level security', part);
        execute format('create policy org_rows on %I to millrace_app using (org_id = current_org()) with check (org_id = current_org())', part);
        execute format('grant select, insert, update, delete on %I to millrace_app', part);
        return part;
      end if;
      since := until;
    end loop;
  end loop;
  return null;
exception when lock_not_available then
  -- Others must not wait behind this for long. There are weeks in which to try again.
  return null;
end
$$;

-- Whether a run in a range of ids is not to be removed at a time: it is under way, has ended later, or one that is under way is a part of
-- it or resumes it.
create or replace function are_runs_kept(in_lower uuid, in_upper uuid, in_before timestamptz) returns boolean language sql stable as $$
  with under_way as materialized (
    select r.run_id, r.parent_run_id, r.resumed_from ->> 'run_id' as resumed from runs r
    where r.state in ('PENDING', 'RUNNING', 'PAUSED', 'RESUMED')
  )
  select exists (
    select from under_way u cross join unnest(array[u.run_id, u.parent_run_id, u.resumed::uuid]) as id
    where id >= in_lower and id < in_upper
  ) or exists (
    select from runs r where r.finished_at is not null and r.finished_at - run_time(r.run_id) > interval '24 hours'
      and r.run_id >= in_lower and r.run_id < in_upper and r.finished_at >= in_before
  )
$$;

-- Removes one partition that is empty, or whose runs all have had their days (null: none has), and answers its name; null where there
-- is none, or where others are at work in its table: it is tried again later.
create or replace function drop_run_partition(in_days integer) returns text language plpgsql security definer set lock_timeout = '250ms' as $$
declare
  before timestamptz := coalesce(now() - make_interval(days => in_days), '-infinity');
  busy text[] := '{}';
  part record;
begin
  if not pg_try_advisory_xact_lock(5217730002) then return null; end if;
  for part in
    select p.parent, p.name, p.upper, coalesce(p.lower, '00000000-0000-0000-0000-000000000000') as lower,
      run_time(p.upper) + interval '24 hours' <= before as is_due
    from run_partitions() p where run_time(p.upper) + interval '24 hours' <= now() order by p.upper, p.parent
  loop
    continue when part.parent = any (busy) or not is_partition_free(part.name, part.is_due, part.lower, part.upper, before);
    begin
      execute format('lock table only %I in access exclusive mode', part.parent);
      -- Once more: now nobody can write there.
      if not is_partition_free(part.name, part.is_due, part.lower, part.upper, before) then raise sqlstate 'MR001'; end if;
      -- Not detached first: that would make a foreign key of its own, for which all writes of runs would have to wait.
      execute format('drop table %I', part.name);
      return part.name;
    exception
      when lock_not_available then busy := busy || part.parent;
      when sqlstate 'MR001' then null;
    end;
  end loop;
  return null;
end
$$;

-- Whether a partition may go: its runs have all had their days, or it has no rows.
create or replace function is_partition_free(in_name text, is_due boolean, in_lower uuid, in_upper uuid, in_before timestamptz)
returns boolean language plpgsql as $$
declare
  occupied boolean;
begin
  if is_due and not are_runs_kept(in_lower, in_upper, in_before) then return true; end if;
  execute format('select exists (select from %I)', in_name) into occupied;
  return not occupied;
end
$$;

-- From which time on ended runs that the installation's days are for wait for their partition to be removed. It is tried for a day;
-- then they go one by one, as a run that is under way may keep the partition for months. Of few days a week would be much: no run waits.
create or replace function run_rows_wait_from(in_days integer) returns timestamptz language sql stable as $$
  select coalesce(
    (select min(run_time(p.lower)) from run_partitions() p where run_time(p.lower) < now() - make_interval(days => in_days)
      and run_time(p.upper) + interval '48 hours' > now() - make_interval(days => in_days) and in_days >= 28),
    now() - make_interval(days => in_days))
$$;

do $$
declare
  name text;
begin
  foreach name in array array['make_run_partition(integer)', 'drop_run_partition(integer)'] loop
    execute format('alter function %s set search_path = %I, pg_temp', name, current_schema());
    -- Of the owner of the tables, and who acts as it.
    execute format('revoke execute on function %s from public', name);
  end loop;
end
$$;
