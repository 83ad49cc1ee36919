-- Whoever writes runs waits behind this. Behind a long read, such as a backup's, rather nothing is done: it can be repeated.
do $$
begin
  for attempt in 1..20 loop
    begin
      perform set_config('lock_timeout', '250ms', true);
      lock table runs, conversations, audit_log in access exclusive mode;
      return;
    exception when lock_not_available then
      perform pg_sleep(0.5);
    end;
  end loop;
  raise lock_not_available using message = 'others use the table of runs all the time: repeat this when the backup, or other long read, is done';
end
$$;

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
  -- Visitors who came earlier have to come anew: since then there is another password, or none.
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

do $$
declare
  name text;
begin
  foreach name in array array['pages', 'page_visitors'] loop
    execute format('alter table %I enable row level security', name);
    execute format('create policy org_rows on %I to millrace_app using (org_id = current_org()) with check (org_id = current_org())', name);
    execute format('grant select, insert, update, delete on %I to millrace_app', name);
  end loop;
end
$$;

-- Conversations have a title, and those of a page their visitor.
alter table conversations
  add column title text,
  add column page_id uuid references pages on delete set null,
  add column visitor_id uuid references page_visitors on delete set null;
create index conversations_visitor_idx on conversations (visitor_id, conversation_id) where visitor_id is not null;
create index conversations_page_idx on conversations (page_id) where page_id is not null;

-- The rows that are there satisfied the narrower ones.
alter table runs drop constraint runs_ran_by_type_check;
alter table runs add constraint runs_ran_by_type_check check (ran_by_type in ('org_api_key', 'user', 'system', 'page')) not valid;
alter table audit_log drop constraint audit_log_actor_type_check;
alter table audit_log add constraint audit_log_actor_type_check check (actor_type in ('user', 'org_api_key', 'system', 'cli', 'page')) not valid;
