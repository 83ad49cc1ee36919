-- What models with a memory were asked and answered, by the user handle of the runs.

create table conversations (
  conversation_id  uuid primary key,
  org_id           uuid not null references organisations,
  project_id       uuid not null references projects on delete cascade,
  user_id          text not null,
  created_at       timestamptz not null default now(),
  updated_at       timestamptz not null default now(),
  unique (project_id, user_id)
);
create index conversations_list_idx on conversations (project_id, conversation_id);
create index conversations_age_idx on conversations (updated_at);

create table conversation_turns (
  turn_id          uuid primary key,
  conversation_id  uuid not null references conversations on delete cascade,
  org_id           uuid not null,
  -- Kept by itself: a turn may outlive its run, and a run its turns.
  run_id           uuid not null,
  -- Place of the node in the run: nodes of a flow do not hear each other.
  path             text not null,
  -- [question, answer]
  said             jsonb not null,
  created_at       timestamptz not null default now(),
  unique (run_id, path)
);
create index conversation_turns_idx on conversation_turns (conversation_id, turn_id);
create index conversation_turns_age_idx on conversation_turns (created_at);

do $$
declare
  name text;
begin
  foreach name in array array['conversations', 'conversation_turns'] loop
    execute format('alter table %I enable row level security', name);
    execute format('create policy org_rows on %I to millrace_app using (org_id = current_org()) with check (org_id = current_org())', name);
    execute format('grant select, insert, update, delete on %I to millrace_app', name);
  end loop;
end
$$;
