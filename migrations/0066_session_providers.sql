-- The identity provider that a session was opened by; null of passwords and links.
alter table sessions add column provider_id text;
