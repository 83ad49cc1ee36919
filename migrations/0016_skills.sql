-- Skills: bundles of instructions and files, in immutable versions. A version's bundle is one blob, a ZIP archive whose
-- files are stored uncompressed: it is downloaded as it is, and each file is a range of it.

create table skills (
  skill_id         uuid primary key,
  org_id           uuid not null references organisations,
  name             text not null check (name ~ '^[a-z0-9-]{1,64}$'),
  latest_version   integer not null default 1,
  default_version  integer not null default 1,
  revision         integer not null default 1,
  created_by       uuid,
  created_at       timestamptz not null default now(),
  updated_at       timestamptz not null default now()
);
create unique index skills_name_key on skills (org_id, name);
create index skills_org_idx on skills (org_id, skill_id);

create table skill_versions (
  skill_id       uuid not null references skills on delete cascade,
  version        integer not null check (version > 0),
  org_id         uuid not null,
  description    text not null,
  -- The optional members of its front matter.
  license        text,
  compatibility  text,
  metadata       jsonb not null default '{}',
  allowed_tools  text[] not null default '{}',
  content_hash   text not null,
  -- [{path, size, sha256, offset}]: where in the blob each file begins.
  files          jsonb not null,
  size           bigint not null,
  blob_key       text not null,
  created_by     uuid,
  created_at     timestamptz not null default now(),
  primary key (skill_id, version)
);
create unique index skill_versions_content_key on skill_versions (skill_id, content_hash);

do $$
declare
  name text;
begin
  foreach name in array array['skills', 'skill_versions'] loop
    execute format('alter table %I enable row level security', name);
    execute format('create policy org_rows on %I to millrace_app using (org_id = current_org()) with check (org_id = current_org())', name);
    execute format('grant select, insert, update, delete on %I to millrace_app', name);
  end loop;
end
$$;
