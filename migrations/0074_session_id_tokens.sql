-- The ID token that a session was opened by, sealed: the provider is asked by it to end its own session. Null once the session has ended.
alter table sessions add column id_token bytea;
