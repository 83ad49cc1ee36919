-- Providers that organisations made of documents of other services. Their actions are rows: there may be thousands.

create table imported_providers (
  org_id       uuid not null references organisations,
  provider_id  text not null,
  provider     jsonb not null,
  source_url   text,
  created_at   timestamptz not null default now(),
  updated_at   timestamptz not null default now(),
  primary key (org_id, provider_id)
);

create table imported_actions (
  org_id       uuid not null,
  provider_id  text not null,
  action_id    text not null,
  action       jsonb not null,
  primary key (org_id, provider_id, action_id),
  foreign key (org_id, provider_id) references imported_providers on delete cascade
);

do $$
declare
  name text;
begin
  foreach name in array array['imported_providers', 'imported_actions'] loop
    execute format('alter table %I enable row level security', name);
    execute format('create policy org_rows on %I to millrace_app using (org_id = current_org()) with check (org_id = current_org())', name);
    execute format('grant select, insert, update, delete on %I to millrace_app', name);
  end loop;
end
$$;
