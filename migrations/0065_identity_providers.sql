-- Sign-ins by OpenID Connect that are under way: from the redirect to the provider until the browser comes back. The browser's
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
alter table user_identities enable row level security;
create policy org_rows on user_identities to millrace_app using (org_id = current_org()) with check (org_id = current_org());
grant select, insert, update, delete on user_identities to millrace_app;
