-- Runs of single actions, and a note of every call that must not be made twice.

create table action_runs (
  action_run_id     uuid primary key,
  org_id            uuid not null references organisations,
  provider_id       text not null,
  action_id         text not null,
  connection_id     uuid,
  dry_run           boolean not null,
  timeout_seconds   integer not null,
  inputs            jsonb not null,
  state             text not null default 'PENDING' check (state in ('PENDING', 'RUNNING', 'COMPLETED', 'FAILED')),
  outputs           jsonb,
  error             jsonb,
  rendered_request  jsonb,
  latency_ms        integer,
  created_by        uuid,
  created_at        timestamptz not null default now(),
  -- When the sweeper last made sure of its workflow.
  swept_at          timestamptz not null default now(),
  finished_at       timestamptz
);
create index action_runs_open_idx on action_runs (swept_at) where finished_at is null;
create index action_runs_age_idx on action_runs (finished_at) where finished_at is not null;

-- Written before an action that is not idempotent is called. Whoever finds its call here does not know what became of it.
create table action_calls (
  org_id    uuid not null references organisations,
  call_key  text not null,
  begun_at  timestamptz not null default now(),
  primary key (org_id, call_key)
);
create index action_calls_age_idx on action_calls (begun_at);

do $$
declare
  name text;
begin
  foreach name in array array['action_runs', 'action_calls'] loop
    execute format('alter table %I enable row level security', name);
    execute format('create policy org_rows on %I to millrace_app using (org_id = current_org()) with check (org_id = current_org())', name);
    execute format('grant select, insert, update, delete on %I to millrace_app', name);
  end loop;
end
$$;
