-- Syncs: what a knowledge base's sources hold is read again, and what changed is indexed anew. The state of a sync is in
-- these tables; its workflow only sees to it that some worker goes on with it.

alter table knowledge_resources
  -- Whether a source of the knowledge base lists it: a sync removes it when the source no longer does.
  add column from_source boolean not null default false,
  -- What its address answered with the bytes, for conditional requests.
  add column etag text,
  add column last_modified text;
create index knowledge_resources_url_idx on knowledge_resources (knowledge_base_id, md5(source_url)) where source_url is not null;

-- The schedule that Temporal has, as far as is known; where it differs from the wanted one, a sweeper mends it.
alter table knowledge_bases add column applied_cron text;
create index knowledge_bases_schedule_idx on knowledge_bases (knowledge_base_id)
  where applied_cron is distinct from (case when deleted_at is null then schedule_cron end);

create table knowledge_syncs (
  sync_id             uuid primary key,
  org_id              uuid not null,
  knowledge_base_id   uuid not null references knowledge_bases on delete cascade,
  mode                text not null check (mode in ('incremental', 'full', 'dry_run')),
  delete_missing      boolean not null,
  trigger             text not null check (trigger in ('request', 'schedule')),
  state               text not null default 'pending' check (state in ('pending', 'running', 'completed', 'failed', 'cancelled')),
  -- How far the sources have been listed: null before the first page, {"done": true} after the last.
  position            jsonb,
  -- Whether some part of a source could not be listed: nothing is taken for missing then.
  listing_incomplete  boolean not null default false,
  error               jsonb,
  added               integer not null default 0,
  updated             integer not null default 0,
  deleted             integer not null default 0,
  unchanged           integer not null default 0,
  failed              integer not null default 0,
  total               integer not null default 0,
  cancel_requested_at timestamptz,
  -- When somebody last worked on it, or saw to it that somebody does.
  checked_at          timestamptz not null default now(),
  created_at          timestamptz not null default now(),
  started_at          timestamptz,
  finished_at         timestamptz
);
create index knowledge_syncs_list_idx on knowledge_syncs (knowledge_base_id, sync_id);
create unique index knowledge_syncs_active_key on knowledge_syncs (knowledge_base_id) where state in ('pending', 'running');
create index knowledge_syncs_check_idx on knowledge_syncs (checked_at) where state in ('pending', 'running');

-- What a sync has to do, one row a document; kept for the last few syncs of a knowledge base.
create table knowledge_sync_items (
  item_id      uuid primary key,
  org_id       uuid not null,
  sync_id      uuid not null references knowledge_syncs on delete cascade,
  -- The address, or of what has none the resource's path.
  address      text not null,
  -- read: fetch it and index what changed; index: index the stored bytes anew; delete; list: a part of a source that was not listed.
  action       text not null check (action in ('read', 'index', 'delete', 'list')),
  -- Which source lists it; null where none does.
  source_no    integer,
  resource_id  uuid,
  -- The revision that is being indexed for it, and what the item's outcome is once that is found.
  revision     integer,
  becomes      text check (becomes in ('added', 'updated', 'unchanged', 'failed')),
  outcome      text check (outcome in ('added', 'updated', 'deleted', 'unchanged', 'failed')),
  error        jsonb
);
create unique index knowledge_sync_items_listed_key on knowledge_sync_items (sync_id, md5(address)) where action = 'read' and source_no is not null;
create index knowledge_sync_items_list_idx on knowledge_sync_items (sync_id, item_id);
create index knowledge_sync_items_resource_idx on knowledge_sync_items (sync_id, resource_id);
create index knowledge_sync_items_open_idx on knowledge_sync_items (sync_id, item_id) where outcome is null;

-- ---------------------------------------------------------------- row-level security
do $$
declare
  name text;
begin
  foreach name in array array['knowledge_syncs', 'knowledge_sync_items'] loop
    execute format('alter table %I enable row level security', name);
    execute format('create policy org_rows on %I to millrace_app using (org_id = current_org()) with check (org_id = current_org())', name);
    execute format('grant select, insert, update, delete on %I to millrace_app', name);
  end loop;
end
$$;
