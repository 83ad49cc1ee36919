-- Organisations and who acts in them: people with their sessions, and keys. What they do is in the audit log.
--
-- Every table that belongs to an organisation carries org_id and row-level security (0016_access.sql): the services connect as
-- role millrace_app, which sees only the rows of the organisation in the setting millrace.org_id.
create function current_org() returns uuid language sql stable parallel safe
  as $$ select nullif(current_setting('millrace.org_id', true), '')::uuid $$;

create table organisations (
  org_id      uuid primary key,
  name        text not null check (length(name) between 1 and 200),
  created_at  timestamptz not null default now()
);

create table users (
  user_id          uuid primary key,
  org_id           uuid not null references organisations,
  email            text not null,
  password_hash    text not null,
  -- A member has only the roles granted in single projects.
  role             text not null check (role in ('member', 'viewer', 'editor', 'admin')),
  created_at       timestamptz not null default now(),
  disabled_at      timestamptz,
  -- Of several users with the same address and password, the one whose password is newest is signed in.
  password_set_at  timestamptz not null default now()
);
create index users_org_idx on users (org_id, user_id);
-- An e-mail address is unique within its organisation only: a refusal told an admin of one who is a user of another.
-- Addresses are ASCII, and only ASCII letters are folded: other rules make one letter of another (İ of i, say).
create unique index users_email_key on users (lower(email collate "C"), org_id);

-- Who a person of an identity provider is here. The subject is the provider's own, lasting name of the person; addresses change.
create table user_identities (
  org_id        uuid not null references organisations,
  issuer        text not null,
  subject       text not null,
  user_id       uuid not null references users on delete cascade,
  created_at    timestamptz not null default now(),
  signed_in_at  timestamptz not null default now(),
  primary key (org_id, issuer, subject)
);
create index user_identities_user_idx on user_identities (user_id);

-- Who is signed in to the console: a cookie carries the secret, the row its digest. An idle session ends.
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
  ended_at      timestamptz,
  -- The identity provider that a session was opened by; null of passwords and links.
  provider_id   text,
  -- The ID token that a session was opened by, sealed: the provider is asked by it to end its own session. Null once the session has ended.
  id_token      bytea
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

-- Unfinished sign-ins by OpenID Connect: from the redirect to the provider until the browser comes back. The browser's
-- cookie and the state are digests here. They belong to no organisation yet, and only the login role reads them.
create table provider_sign_ins (
  state_hash     bytea primary key,
  browser_hash   bytea not null,
  provider_id    text not null,
  nonce          text not null,
  code_verifier  text not null,
  return_to      text not null,
  expires_at     timestamptz not null
);
create index provider_sign_ins_expiry_idx on provider_sign_ins (expires_at);

create table oauth_tokens (
  token_id     uuid primary key,
  org_id       uuid not null references organisations,
  user_id      uuid not null references users,
  kind         text not null check (kind in ('access', 'refresh')),
  secret_hash  bytea not null,
  scope        text not null default '',
  created_at   timestamptz not null default now(),
  expires_at   timestamptz not null,
  revoked_at   timestamptz,
  -- Tokens that were got one from the other are one session, which people see and end.
  session_id   uuid,
  began_at     timestamptz,
  user_agent   text not null default '',
  address      text not null default ''
);
create unique index oauth_tokens_secret_hash_key on oauth_tokens (secret_hash);
create index oauth_tokens_expiry_idx on oauth_tokens (expires_at);
create index oauth_tokens_session_idx on oauth_tokens (org_id, session_id) where session_id is not null;

create table api_keys (
  key_id             uuid primary key,
  org_id             uuid not null references organisations,
  name               text not null,
  kind               text not null check (kind in ('public', 'secret')),
  secret_hash        bytea not null,
  prefix             text not null,
  created_by         uuid,
  created_at         timestamptz not null default now(),
  expires_at         timestamptz,
  revoked_at         timestamptz,
  last_used_at       timestamptz,
  -- What a key may do less than others of its kind; null and false: no limit.
  scopes             text[],
  read_only          boolean not null default false,
  projects           uuid[],
  allowed_origins    text[],
  allowed_addresses  text[]
);
create unique index api_keys_secret_hash_key on api_keys (secret_hash);
create index api_keys_org_idx on api_keys (org_id, key_id);

-- Who has changed what, or read a secret or an export. Rows are written with the change itself and never changed; housekeeping
-- removes old ones where the installation says how long they are kept. Nothing refers to what is named: it outlives that.
create table audit_log (
  entry_id     uuid primary key,
  org_id       uuid not null references organisations,
  at           timestamptz not null default now(),
  actor_type   text not null check (actor_type in ('user', 'org_api_key', 'system', 'cli', 'page')),
  -- Null of a sign-in that failed, and of what no user and no key has done.
  actor_id     uuid,
  session_id   uuid,
  address      text,
  user_agent   text,
  request_id   text,
  operation    text not null,
  target_type  text,
  -- Most ids are UUIDs; providers have names.
  target_id    text,
  outcome      text not null check (outcome in ('success', 'failure')),
  -- By field: {"before": ..., "after": ...}; empty where there is nothing to compare.
  changes      jsonb not null default '{}'
);
create index audit_log_org_idx on audit_log (org_id, entry_id);
create index audit_log_target_idx on audit_log (org_id, target_id, entry_id);
create index audit_log_at_idx on audit_log (at);
-- Entries about scores name the run, and keep what they were.
create index audit_log_runs_of_scores_idx
  on audit_log ((coalesce(changes #>> '{run_id,after}', changes #>> '{run_id,before}'))) where target_type = 'score';
-- sha256 e17a78f74dfa
\ir functions/audit.sql
create trigger audit_log_never_changed before update on audit_log for each row execute function refuse_update_unless_erasing();

-- Keys that encrypt what lies outside the database: payloads of workflows, and blobs. Each is sealed under the master key, so that
-- a new master key leaves what was encrypted before readable. No role of organisations reads them.
create table data_keys (
  key_id      uuid primary key,
  purpose     text not null check (purpose in ('payloads', 'blobs')),
  sealed      bytea not null,
  -- The one that encrypts; the others decrypt.
  current     boolean not null default true,
  created_at  timestamptz not null default now()
);
create unique index data_keys_current_key on data_keys (purpose) where current;

create table idempotency_keys (
  org_id        uuid not null,
  key           text not null,
  operation     text not null,
  request_hash  bytea not null,
  -- The id that whatever the request creates will have, however often it has to be tried.
  resource_id   uuid not null,
  locked_until  timestamptz,
  response      jsonb,
  created_at    timestamptz not null default now(),
  -- Who holds a key: what a request does to its key counts only until another request takes the key.
  lease_id      uuid not null default gen_random_uuid(),
  primary key (org_id, key)
);
create index idempotency_keys_age_idx on idempotency_keys (created_at);

create table rate_limits (
  key     varchar(255) primary key,
  points  integer not null default 0,
  expire  bigint
);
