-- Tokens that were got one from the other are one session, which people see and end.
alter table oauth_tokens
  add column session_id uuid,
  add column began_at timestamptz,
  add column user_agent text not null default '',
  add column address text not null default '';

create index oauth_tokens_session_idx on oauth_tokens (org_id, session_id) where session_id is not null;
