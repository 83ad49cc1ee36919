-- Pages on which people without an account use a flow. The token of the address is stored as a digest, to find the page, and sealed, to
-- show the address again.
create table pages (
  page_id         uuid primary key,
  org_id          uuid not null references organisations,
  project_id      uuid not null references projects on delete cascade,
  kind            text not null check (kind in ('form', 'chat')),
  environment     text not null,
  token_hash      bytea not null unique,
  token           bytea not null,
  look            jsonb not null,
  origins         text[] not null default '{}',
  expires_at      timestamptz,
  password_hash   text,
  -- Visitors who came earlier have to open the page again: since then there is another password, or none.
  visitors_since  timestamptz not null default now(),
  rate_limits     jsonb not null,
  visitor_pauses  text[] not null default '{}',
  revision        integer not null default 1,
  created_by      uuid not null,
  created_at      timestamptz not null default now(),
  updated_at      timestamptz not null default now(),
  revoked_at      timestamptz
);
create index pages_list_idx on pages (project_id, page_id);

-- A browser that uses a page. It knows the secret; nothing here says who the person is.
create table page_visitors (
  visitor_id   uuid primary key,
  org_id       uuid not null references organisations,
  page_id      uuid not null references pages on delete cascade,
  secret_hash  bytea not null unique,
  created_at   timestamptz not null default now(),
  seen_at      timestamptz not null default now()
);
create index page_visitors_page_idx on page_visitors (page_id);
create index page_visitors_seen_idx on page_visitors (seen_at);

-- What models with a memory were asked and answered, by the user handle of the runs.
create table conversations (
  conversation_id  uuid primary key,
  org_id           uuid not null references organisations,
  project_id       uuid not null references projects on delete cascade,
  user_id          text not null,
  created_at       timestamptz not null default now(),
  updated_at       timestamptz not null default now(),
  -- Conversations have a title, and those of a page their visitor.
  title            text,
  page_id          uuid references pages on delete set null,
  visitor_id       uuid references page_visitors on delete set null,
  unique (project_id, user_id)
);
create index conversations_list_idx on conversations (project_id, conversation_id);
create index conversations_age_idx on conversations (updated_at);
create index conversations_visitor_idx on conversations (visitor_id, conversation_id) where visitor_id is not null;
create index conversations_page_idx on conversations (page_id) where page_id is not null;

create table conversation_turns (
  turn_id          uuid primary key,
  conversation_id  uuid not null references conversations on delete cascade,
  org_id           uuid not null,
  -- No reference: a turn may outlive its run, and a run its turns.
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
-- Turns that have had their time, by conversation.
create index conversation_turns_kept_idx on conversation_turns (conversation_id, created_at);
