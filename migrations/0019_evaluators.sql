-- Evaluators in versions that never change, and what they, programs and people say of runs.
create table evaluators (
  evaluator_id  uuid primary key,
  org_id        uuid not null references organisations,
  name          text not null check (length(name) between 1 and 200),
  description   text not null default '',
  template_id   text,
  -- The present one; grows with every change.
  version       integer not null default 1,
  -- Of a webhook, what its requests are signed with.
  secret        bytea,
  created_at    timestamptz not null default now(),
  updated_at    timestamptz not null default now(),
  deleted_at    timestamptz
);
create index evaluators_org_idx on evaluators (org_id, evaluator_id) where deleted_at is null;

create table evaluator_versions (
  evaluator_id  uuid not null references evaluators,
  version       integer not null,
  org_id        uuid not null,
  -- {type, config, target, score, negate, weight}
  definition    jsonb not null,
  created_at    timestamptz not null default now(),
  primary key (evaluator_id, version)
);

create table scores (
  score_id           uuid primary key,
  org_id             uuid not null references organisations,
  run_id             uuid not null references runs,
  -- Null: of the whole run.
  node_id            text,
  name               text not null,
  data_type          text not null check (data_type in ('numeric', 'boolean', 'categorical')),
  -- A number, a boolean or a text; null where there is an error.
  value              jsonb,
  -- What it counts in means: a boolean 1 or 0, a text by whether it passes.
  number             double precision,
  passed             boolean,
  label              text,
  -- Why, in words: an evaluator's reasoning, or a person's comment.
  comment            text,
  error              jsonb,
  source             text not null check (source in ('api', 'human', 'evaluator')),
  evaluator_id       uuid references evaluators,
  evaluator_version  integer,
  -- Who had it made first.
  experiment_id      uuid,
  monitor_id         uuid,
  author             text,
  metadata           jsonb not null default '{}',
  usage              jsonb,
  created_at         timestamptz not null default now(),
  check ((source = 'evaluator') = (evaluator_id is not null and evaluator_version is not null))
);
-- An evaluator's version scores a run once, whoever asks for it.
create unique index scores_evaluator_key on scores (run_id, evaluator_id, evaluator_version) where source = 'evaluator';
create index scores_run_idx on scores (run_id, score_id);

do $$
declare
  name text;
begin
  foreach name in array array['evaluators', 'evaluator_versions', 'scores'] loop
    execute format('alter table %I enable row level security', name);
    execute format('create policy org_rows on %I to millrace_app using (org_id = current_org()) with check (org_id = current_org())', name);
    execute format('grant select, insert, update, delete on %I to millrace_app', name);
  end loop;
end
$$;
