-- Runs, and what is recorded of them. Their functions: functions/runs.sql, functions/record_run.sql.
-- sha256 a8596c02de91
\ir functions/runs.sql

create table runs (
  run_id            uuid primary key,
  org_id            uuid not null references organisations,
  project_id        uuid not null references projects,
  flow_version      integer not null,
  state             text not null default 'PENDING'
                    check (state in ('PENDING', 'RUNNING', 'PAUSED', 'RESUMED', 'COMPLETED', 'FAILED', 'CANCELLED')),
  state_reason      text,
  inputs            jsonb not null,
  outputs           jsonb,
  citations         jsonb,
  error             jsonb,
  run_type          text not null check (run_type in ('api', 'batch', 'trigger', 'scheduled', 'sub_workflow', 'draft')),
  ran_by_type       text not null check (ran_by_type in ('org_api_key', 'user', 'system', 'page')),
  ran_by_id         uuid,
  user_id           text,
  parent_run_id     uuid,
  resumed_from      jsonb,
  metadata          jsonb not null default '{}',
  tags              text[] not null default '{}',
  usage             jsonb not null default '{}',
  -- Everything the workflow is started with, so that a sweeper can start it when the api could not.
  start_input       jsonb not null,
  run_at            timestamptz,
  timeout_seconds   integer not null,
  total_nodes       integer not null default 0,
  started_nodes     integer not null default 0,
  completed_nodes   integer not null default 0,
  skipped_nodes     integer not null default 0,
  current_node      text,
  event_seq         integer not null default 0,
  created_at        timestamptz not null default now(),
  started_at        timestamptz,
  paused_at         timestamptz,
  finished_at       timestamptz,
  updated_at        timestamptz not null default now(),
  temporal_run_id   text,
  cancel_requested  jsonb,
  -- When the sweeper or the reconciler looks at this run next.
  check_at          timestamptz not null default now(),
  -- Members of an inference call's body that no input takes: its later answers report them as the first one did.
  ignored_inputs    text[] not null default '{}',
  -- The end of a child's id, which is made of the node that called it. Row-level security lets a query reach an index only by operators
  -- that leak nothing: `=` on a column is one, right() and the cast of a uuid are none.
  child_end         text generated always as (case when parent_run_id is not null then right(run_id::text, 22) end) stored,
  -- The key whose quotas count a run that it has not started itself: a run of the key has started it, or the key has fired a trigger.
  key_id            uuid,
  -- The run whose values it was started with, by a trigger or a call. The firing says so, too, but only as long as events are kept.
  caused_by         uuid,
  -- `environment`: null for drafts and explicit versions. `bindings_id`: the promotion whose connections replace those of the flow.
  environment       text,
  bindings_id       uuid
);
-- Ids are UUIDv7: their order is the order of creation, so they are the key of every list.
create index runs_org_idx on runs (org_id, run_id desc);
create index runs_org_project_idx on runs (org_id, project_id, run_id desc);
create index runs_org_state_idx on runs (org_id, state, run_id desc);
create index runs_org_type_idx on runs (org_id, run_type, run_id desc);
create index runs_org_user_idx on runs (org_id, user_id, run_id desc) where user_id is not null;
create index runs_parent_idx on runs (parent_run_id, run_id desc) where parent_run_id is not null;
create index runs_check_idx on runs (check_at) where state in ('PENDING', 'RUNNING', 'PAUSED', 'RESUMED');
create index runs_live_idx on runs (org_id, project_id) where state in ('PENDING', 'RUNNING', 'PAUSED', 'RESUMED');
-- What a project's page asks for: its failed runs among a million that went well.
create index runs_org_project_state_idx on runs (org_id, project_id, state, run_id desc);
-- Runs that have had their time.
create index runs_finished_idx on runs (finished_at) where state in ('COMPLETED', 'FAILED', 'CANCELLED');
create index runs_resumed_from_idx on runs ((resumed_from ->> 'run_id')) where resumed_from is not null;
-- Runs that Temporal cannot advance: few at any time, and counted often.
create index runs_stuck on runs (state, finished_at) where state_reason = 'stuck';
-- A child is found by the end of its id: not by reading all children of the run.
create index runs_child_end_idx on runs (parent_run_id, child_end) where parent_run_id is not null;
create index runs_open_of_key_idx on runs (org_id, ran_by_id) where state in ('PENDING', 'RUNNING', 'PAUSED', 'RESUMED');
-- The sweep looks at the oldest runs of each project.
create index runs_project_finished_idx on runs (project_id, finished_at)
  where state in ('COMPLETED', 'FAILED', 'CANCELLED');
-- Runs that have ended long after the time of their id: of a partition's runs all others ended a day after its end, at most.
create index runs_late_idx on runs (run_id)
  where finished_at is not null and finished_at - run_time(run_id) > interval '24 hours';
-- All runs that experiments have made of a row of a dataset.
create index runs_dataset_row_idx on runs ((metadata ->> 'row_id')) where run_type = 'batch';
-- The unfinished runs that a key's quota counts beside the ones that it has started itself.
create index runs_open_for_key_idx on runs (org_id, key_id)
  where key_id is not null and state in ('PENDING', 'RUNNING', 'PAUSED', 'RESUMED');
-- The runs that were started with the values of a run.
create index runs_caused_by_idx on runs (caused_by) where caused_by is not null;
-- Which documents of drafts runs still use.
create index runs_of_drafts_idx on runs (project_id, flow_version) where flow_version < -1;
-- Lists of the runs of an environment. Most runs are in production: they are found by the index of all runs.
create index runs_of_environments_idx on runs (org_id, environment, run_id) where environment <> 'production';
create trigger runs_transition before update of state on runs for each row
  when (old.state is distinct from new.state) execute function check_run_transition();

-- Runs by tag, in the order of their ids. A GIN index on runs.tags cannot serve this: array operators are not leakproof,
-- so Postgres never uses it under row-level security, and it has no order to page in.
create table run_tags (
  org_id  uuid not null,
  tag     text not null,
  run_id  uuid not null references runs on delete cascade,
  primary key (org_id, tag, run_id)
);
create index run_tags_run_idx on run_tags (run_id);
-- Tags are given with a run and never change.
create trigger runs_tags after insert on runs for each row when (new.tags <> '{}') execute function copy_run_tags();

-- The traces that runs belong to, where a request or another run has started them while traces are exported. The trace of any other run
-- follows from its id.
create table run_traces (
  run_id         uuid primary key references runs (run_id) on delete cascade,
  org_id         uuid not null references organisations,
  trace_id       text,
  parent_id      text,
  sampled        boolean,
  -- The run that it repeats.
  linked_run_id  uuid
);
create index run_traces_linked_idx on run_traces (linked_run_id) where linked_run_id is not null;

-- How often a run was started again because its workflow was lost.
create table run_restarts (
  run_id        uuid primary key references runs on delete cascade,
  org_id        uuid not null,
  restarts      integer not null default 1,
  restarted_at  timestamptz not null default now()
);

-- The values of the nodes that had finished when a run failed or was cancelled, for a run that resumes from there.
create table run_checkpoints (
  run_id  uuid primary key references runs on delete cascade,
  org_id  uuid not null,
  nodes   jsonb not null
);

-- The text of models while it is being written: pieces, for those who watch a run. They are removed some time after its end; the
-- text itself is a part of the run's record. Without a log: a crash of the database costs no more than the pieces, and they cost
-- little. No reference to the run either: to check it would wait for the lock of each write of the run's record.
create unlogged table run_deltas (
  run_id     uuid not null,
  -- Readers go by it; what commits late may come behind a higher one.
  id         bigint generated always as identity,
  org_id     uuid not null,
  path       text not null,
  -- Grows whenever a text starts again.
  attempt    integer not null,
  step       integer not null,
  -- Length of the text before this piece, in UTF-16 units.
  from_char  integer not null,
  text       text not null,
  primary key (run_id, id)
);
create unique index run_deltas_place_key on run_deltas (run_id, path, attempt, step, from_char);

-- What is recorded of runs is in partitions by the time in the run's id: a UUIDv7 begins with its time, so a range of ids is a range
-- of times. Housekeeping makes partitions ahead of time and removes old ones whole, where deleting their rows would take hours
-- (functions/partitions.sql).
create table node_runs (
  run_id           uuid not null references runs on delete cascade,
  path             text not null,
  org_id           uuid not null,
  node_id          text not null,
  type             text not null,
  state            text not null check (state in ('RUNNING', 'RETRYING', 'PAUSED', 'COMPLETED', 'FAILED', 'CANCELLED', 'SKIPPED')),
  attempts         integer not null default 1,
  inputs           jsonb,
  output           jsonb,
  truncated        boolean not null default false,
  error            jsonb,
  usage            jsonb,
  started_at       timestamptz,
  finished_at      timestamptz,
  -- When a node that failed is tried again; null during an attempt, and once it has ended.
  next_attempt_at  timestamptz,
  -- The passages that a node's value rests on, without their text. A run lists them once it has ended or waits for people.
  citations        jsonb,
  -- Whether the run has taken it over from the run that it resumes.
  reused           boolean not null default false,
  -- A run's record keeps where the whole of a long value is: in the blob store. It shows its beginning.
  long_values      jsonb,
  primary key (run_id, path)
) partition by range (run_id);
-- What runs wait for, and which of them are stuck. Few rows are in it at any time.
create index node_runs_retrying_idx on node_runs (run_id) where state = 'RETRYING';
create index node_runs_citations_idx on node_runs (run_id) where citations is not null;

create table run_events (
  run_id  uuid not null references runs on delete cascade,
  seq     integer not null,
  org_id  uuid not null,
  type    text not null,
  at      timestamptz not null,
  data    jsonb not null,
  primary key (run_id, seq)
) partition by range (run_id);

-- What a model answered at each step of a node that calls tools: a worker that repeats a step whose end its predecessor could
-- not tell does not ask again.
create table agent_steps (
  run_id      uuid not null references runs on delete cascade,
  -- Place of the step in the run, e.g. "map-0[3]/llm-0/steps[2]".
  path        text not null,
  org_id      uuid not null,
  -- A reference to the blob store: what a model said may be long, or not to be read.
  answer      jsonb not null,
  created_at  timestamptz not null default now(),
  -- A digest of what the node asked: a step is taken over by a later run only where that asks the same. Rows at the place of a call
  -- hold its output, where the record of it is shortened or masked.
  asked       text,
  primary key (run_id, path)
) partition by range (run_id);

-- Five weeks from now, and what was recorded before: ids that are no UUIDv7 have any time. Beyond: what no partition has been made for.
do $$
declare
  name text;
begin
  foreach name in array array['run_events', 'node_runs', 'agent_steps'] loop
    execute format('create table %I partition of %I for values from (minvalue) to (%L)', name || '_first', name,
      first_run_id(date_bin('7 days', now(), '2024-01-01 00:00:00+00') + interval '35 days'));
    execute format('create table %I partition of %I default', name || '_other', name);
  end loop;
end
$$;
alter index node_runs_first_run_id_idx rename to node_runs_first_retrying_idx;
alter index node_runs_first_run_id_idx1 rename to node_runs_first_citations_idx;
