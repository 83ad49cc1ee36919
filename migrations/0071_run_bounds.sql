-- Prepares the partitions of 0072: what is recorded of runs is to be in tables by time, which are removed whole. A run's id is a
-- UUIDv7 and begins with its time, so a range of ids is a range of times.
--
-- Locks: the three tables for an instant, as nothing is read. Table runs is read once for an index, and while that lasts runs wait.

create function run_time(id uuid) returns timestamptz language sql immutable strict parallel safe as $$
  select to_timestamp(('x' || left(replace(id::text, '-', ''), 12))::bit(48)::bigint / 1000.0)
$$;

-- The smallest UUIDv7 of a millisecond.
create function first_run_id(at timestamptz) returns uuid language sql immutable strict parallel safe as $$
  select (lpad(to_hex(floor(extract(epoch from at) * 1000)::bigint), 12, '0') || '70008000000000000000')::uuid
$$;

-- Runs that have ended long after the time of their id: of a partition's runs all others ended a day after its end, at most.
create index runs_late_idx on runs (run_id) where finished_at is not null and finished_at - run_time(run_id) > interval '24 hours';

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
