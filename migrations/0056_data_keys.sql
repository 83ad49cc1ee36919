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
