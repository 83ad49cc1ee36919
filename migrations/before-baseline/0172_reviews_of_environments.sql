-- Reviews: a version with its connections, frozen until a second person decides whether an environment gets it.
create table environment_reviews (
  review_id         uuid primary key,
  org_id            uuid not null references organisations,
  project_id        uuid not null,
  environment       text not null,
  version           integer not null,
  connections       jsonb not null,
  notes             text not null,
  -- SHA-256 of the version as the reviewer sees it, with the rights that it runs with.
  digest            text not null,
  state             text not null default 'open' check (state in ('open', 'approved', 'rejected', 'withdrawn')),
  proposed_by_type  text not null check (proposed_by_type in ('org_api_key', 'user')),
  proposed_by       uuid not null,
  -- The person who proposed it: the user, or whoever made the key.
  proposer          uuid not null,
  proposed_at       timestamptz not null default clock_timestamp(),
  decided_by_type   text check (decided_by_type in ('org_api_key', 'user')),
  decided_by        uuid,
  decided_at        timestamptz,
  reason            text not null default '',
  check ((state = 'open') = (decided_at is null)),
  foreign key (project_id, version) references flow_versions (project_id, version)
);
create index environment_reviews_idx on environment_reviews (project_id, review_id);
create unique index environment_reviews_open_idx on environment_reviews (project_id, environment, version, md5(connections::text))
  where state = 'open';
alter table environment_reviews enable row level security;
create policy org_rows on environment_reviews to millrace_app using (org_id = current_org()) with check (org_id = current_org());
grant select, insert, update, delete on environment_reviews to millrace_app;
alter table promotions add foreign key (review_id) references environment_reviews;

-- Triggers and monitors belong to an environment.
alter table triggers add column environment text not null default 'production';
alter table eval_monitors add column environment text not null default 'production';

alter table environments drop constraint environments_name_check;
alter table environments add constraint environments_name_check check (name ~ '^[a-z0-9][a-z0-9-]{0,63}$' and name <> 'draft');
