-- Which states follow which, with those that one write may pass through at once. A state that none follows is an end.
create or replace function run_transitions() returns jsonb language sql immutable parallel safe as $$
  select '{
    "PENDING": ["RUNNING", "PAUSED", "COMPLETED", "FAILED", "CANCELLED"],
    "RUNNING": ["PAUSED", "RESUMED", "COMPLETED", "FAILED", "CANCELLED"],
    "PAUSED": ["RESUMED", "FAILED", "CANCELLED"],
    "RESUMED": ["PAUSED", "COMPLETED", "FAILED", "CANCELLED"],
    "COMPLETED": [],
    "FAILED": [],
    "CANCELLED": []
  }'::jsonb
$$;

create or replace function is_run_end(state text) returns boolean language sql immutable parallel safe as $$
  select run_transitions() -> state = '[]'
$$;

create or replace function is_node_end(state text) returns boolean language sql immutable parallel safe as $$
  select state in ('COMPLETED', 'FAILED', 'CANCELLED', 'SKIPPED')
$$;

create or replace function check_run_transition() returns trigger language plpgsql as $$
begin
  if not (run_transitions() -> old.state ? new.state) then
    raise exception 'run % cannot go from % to %', old.run_id, old.state, new.state
      using errcode = 'check_violation', constraint = 'run_transition';
  end if;
  return new;
end
$$;

create or replace function copy_run_tags() returns trigger language plpgsql as $$
begin
  insert into run_tags (org_id, tag, run_id) select new.org_id, tag, new.run_id from unnest(new.tags) as tag on conflict do nothing;
  return null;
end
$$;

-- The time in an id.
create or replace function run_time(id uuid) returns timestamptz language sql immutable strict parallel safe as $$
  select to_timestamp(('x' || left(replace(id::text, '-', ''), 12))::bit(48)::bigint / 1000.0)
$$;

-- The smallest UUIDv7 of a millisecond.
create or replace function first_run_id(at timestamptz) returns uuid language sql immutable strict parallel safe as $$
  select (lpad(to_hex(floor(extract(epoch from at) * 1000)::bigint), 12, '0') || '70008000000000000000')::uuid
$$;
