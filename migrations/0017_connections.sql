-- Connections: credentials of other services, for actions, models and knowledge sources.

create table connections (
  connection_id        uuid primary key,
  org_id               uuid not null references organisations,
  name                 text not null,
  provider_id          text not null,
  scheme               text not null check (scheme in ('none', 'api_key', 'basic', 'bearer', 'oauth2_client_credentials')),
  -- The whole credential as JSON, sealed under the master key: addresses and account names in it are nobody's business either.
  credential           bytea not null,
  -- Rises with each new credential: what is found out about an earlier one says nothing about this one.
  credential_revision  integer not null default 1,
  status               text not null default 'unverified' check (status in ('active', 'error', 'unverified', 'disabled')),
  status_reason        text,
  last_checked_at      timestamptz,
  revision             integer not null default 1,
  created_by           uuid,
  created_at           timestamptz not null default now(),
  updated_at           timestamptz not null default now()
);
create index connections_list_idx on connections (org_id, connection_id);

alter table connections enable row level security;
create policy org_rows on connections to millrace_app using (org_id = current_org()) with check (org_id = current_org());
grant select, insert, update, delete on connections to millrace_app;
