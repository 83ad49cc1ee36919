-- Who is signed in to the console: a cookie carries the secret, the row its digest. A session ends by itself once it has been idle.
create table sessions (
  session_id    uuid primary key,
  org_id        uuid not null references organisations,
  user_id       uuid not null references users on delete cascade,
  secret_hash   bytea not null,
  -- How the person recognises the session among others.
  user_agent    text not null,
  address       text not null,
  created_at    timestamptz not null default now(),
  last_seen_at  timestamptz not null default now(),
  ended_at      timestamptz
);
create unique index sessions_secret_hash_key on sessions (secret_hash);
create index sessions_org_idx on sessions (org_id, session_id) where ended_at is null;
create index sessions_user_idx on sessions (user_id);
create index sessions_seen_idx on sessions (last_seen_at);

-- Links that sign a person in once, instead of the password.
create table sign_in_links (
  secret_hash  bytea primary key,
  org_id       uuid not null references organisations,
  user_id      uuid not null references users on delete cascade,
  expires_at   timestamptz not null
);
create index sign_in_links_user_idx on sign_in_links (user_id);
create index sign_in_links_expiry_idx on sign_in_links (expires_at);

do $$
declare name text;
begin
  foreach name in array array['sessions', 'sign_in_links'] loop
    execute format('alter table %I enable row level security', name);
    execute format('create policy org_rows on %I to millrace_app using (org_id = current_org()) with check (org_id = current_org())', name);
    execute format('grant select, insert, update, delete on %I to millrace_app', name);
  end loop;
end
$$;
