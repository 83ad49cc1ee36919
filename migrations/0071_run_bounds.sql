-- Prepares the partitions of 0072: what is recorded of runs is to be in tables by time, which are removed whole. A run's id is a
-- UUIDv7 and begins with its time, so a range of ids is a range of times.
--
-- Locks: the tables for an instant, as nothing is read. 0075 makes an index that belongs here, while others write.

create function run_time(id uuid) returns timestamptz language sql immutable strict parallel safe as $$
  select to_timestamp(('x' || left(replace(id::text, '-', ''), 12))::bit(48)::bigint / 1000.0)
$$;

-- The smallest UUIDv7 of a millisecond.
create function first_run_id(at timestamptz) returns uuid language sql immutable strict parallel safe as $$
  select (lpad(to_hex(floor(extract(epoch from at) * 1000)::bigint), 12, '0') || '70008000000000000000')::uuid
$$;

-- In the order of every write of a run. Who writes waits behind this: it gives up before a deadlock would be looked for, which might end
-- a write, and tries again. Behind a long read, such as a backup's, rather nothing is done: it can be repeated.
do $$
begin
  for attempt in 1..20 loop
    begin
      perform set_config('lock_timeout', '250ms', true);
      lock table runs in access exclusive mode;
      lock table node_runs, run_events, agent_steps in access exclusive mode;
      return;
    exception when lock_not_available then
      perform pg_sleep(0.5);
    end;
  end loop;
  raise lock_not_available using message = 'others use the tables of runs all the time: repeat this when the backup, or other long read, is done';
end
$$;

-- All rows that there are go into the first partition, and those of the next weeks: the program of before goes on meanwhile, and
-- 0072 may have to be repeated. Rows are compared with the bound there, where nobody waits for it.
do $$
declare
  bound uuid := first_run_id(date_bin('7 days', now(), '2024-01-01 00:00:00+00') + interval '35 days');
  name text;
begin
  foreach name in array array['run_events', 'node_runs', 'agent_steps'] loop
    execute format('alter table %I add constraint first_partition check (run_id < %L::uuid) not valid', name, bound);
  end loop;
end
$$;

-- Processes of before do not look into partitions for what refers to a blob: from now on they begin no more sweeps, and the sweep has
-- another name. A new database has no such processes, and may be one to restore a backup into.
insert into housekeeping (job, done_at) select 'sweep of blobs', 'infinity' where exists (select from runs)
  on conflict (job) do update set done_at = excluded.done_at;
