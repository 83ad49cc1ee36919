-- Projects, the versions of their flows, and the environments that run them.
create table projects (
  project_id         uuid primary key,
  org_id             uuid not null references organisations,
  name               text not null check (length(name) between 1 and 200),
  description        text not null default '',
  published_version  integer,
  latest_version     integer not null default 0,
  revision           integer not null default 1,
  created_at         timestamptz not null default now(),
  updated_at         timestamptz not null default now(),
  deleted_at         timestamptz,
  -- What a run of a draft executes is kept as a version with a number below -1, which no list of versions shows: so plans,
  -- rights and records find it as they find any version.
  frozen_drafts      integer not null default 0,
  -- Who created it: the ID of a user or of an API key.
  created_by         uuid
);
create index projects_org_idx on projects (org_id, project_id) where deleted_at is null;

create table project_roles (
  project_id  uuid not null references projects on delete cascade,
  user_id     uuid not null references users on delete cascade,
  org_id      uuid not null references organisations,
  role        text not null check (role in ('viewer', 'editor', 'admin')),
  created_at  timestamptz not null default now(),
  primary key (project_id, user_id)
);
-- When a person signs in, their roles are read too.
create index project_roles_user_idx on project_roles (user_id, project_id);

create table flow_versions (
  project_id          uuid not null references projects,
  -- Below -1: what a run of a draft executes (see projects.frozen_drafts).
  version             integer not null check (version > 0 or version < -1),
  org_id              uuid not null references organisations,
  definition          jsonb not null,
  plan                jsonb not null,
  content_hash        text not null,
  notes               text not null default '',
  created_by          uuid,
  created_at          timestamptz not null default now(),
  -- When a version was published first; null: never. A public key runs no version that was never published.
  first_published_at  timestamptz,
  -- jsonb sorts the members of objects. A model answers in the order of a node's schema, and people read their flow as they wrote it: json
  -- keeps the text; plan stays for
  -- what SQL asks of it. Null in rows of early versions.
  written_definition  json,
  written_plan        json,
  -- The rights of who deployed it (src/domain/accounts/kept-rights.ts). Null, in rows of early versions: the organisation's, because
  -- what its user could do then is not known.
  rights              jsonb,
  primary key (project_id, version)
);
create unique index flow_versions_content_key on flow_versions (project_id, content_hash) where version > 0;

-- What each version of a flow refers to: deploys check that it is there, and what a published version uses is not deleted.
create table flow_references (
  project_id  uuid not null,
  version     integer not null,
  org_id      uuid not null,
  -- Words of ReferenceKind (src/domain/flow/nodes/spec.ts).
  kind        text not null,
  target_id   text not null,
  primary key (project_id, version, kind, target_id),
  foreign key (project_id, version) references flow_versions
);
create index flow_references_target_idx on flow_references (org_id, kind, target_id);

-- The steps of a project's draft. The newest is the draft as it is now; one without a flow says that there is none.
create table draft_steps (
  project_id       uuid not null references projects,
  -- Rises with every step, also after the draft was deleted.
  revision         integer not null check (revision > 0),
  org_id           uuid not null references organisations,
  flow             json,
  -- The version that the draft became.
  published_as     integer,
  changed_by_type  text not null check (changed_by_type in ('org_api_key', 'user')),
  changed_by       uuid not null,
  changed_at       timestamptz not null default clock_timestamp(),
  primary key (project_id, revision)
);
create index draft_steps_changed_idx on draft_steps (changed_at);

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

-- Every promotion of a version, roll backs included. A row never changes, so runs can refer to its connections.
create table promotions (
  promotion_id      uuid primary key,
  org_id            uuid not null references organisations,
  project_id        uuid not null,
  environment       text not null,
  version           integer not null check (version > 0),
  -- Connection IDs of the flow, and the IDs that replace them.
  connections       jsonb not null default '{}',
  notes             text not null default '',
  kind              text not null check (kind in ('promotion', 'rollback')),
  -- What it replaced.
  previous_id       uuid references promotions,
  previous_version  integer,
  -- The promotion that a roll back repeats.
  repeats_id        uuid references promotions,
  review_id         uuid references environment_reviews,
  promoted_by_type  text not null check (promoted_by_type in ('org_api_key', 'user')),
  promoted_by       uuid not null,
  promoted_at       timestamptz not null default clock_timestamp(),
  foreign key (project_id, version) references flow_versions (project_id, version)
);
create index promotions_history_idx on promotions (project_id, environment, promotion_id);
create index promotions_version_idx on promotions (project_id, version, promotion_id);

-- Environments of a project: each has a version and the connections that its runs use. Without rows, a project has its default
-- environments. Only production among them can have a version: the published one.
create table environments (
  project_id       uuid not null references projects,
  name             text not null check (name ~ '^[a-z0-9][a-z0-9-]{0,63}$' and name <> 'draft'),
  org_id           uuid not null references organisations,
  -- Order in lists.
  place            integer not null,
  promotion_id     uuid references promotions,
  -- Those of the promotion. The version of production is in `projects.published_version` as well.
  version          integer,
  bindings_id      uuid references promotions,
  requires_review  boolean not null default false,
  revision         integer not null default 1,
  updated_at       timestamptz not null default now(),
  primary key (project_id, name)
);
