-- Knowledge bases: their resources, and the index that is searched. A knowledge base has one active index, and a second
-- one while it is being indexed with other settings; chunks, postings and embeddings belong to an index, so that
-- answers come from the old one until the new one is complete.
create table knowledge_bases (
  knowledge_base_id           uuid primary key,
  org_id                      uuid not null references organisations,
  name                        text not null check (length(name) between 1 and 200),
  description                 text not null default '',
  connection_id               uuid,
  connection_source_ids       text[] not null default '{}',
  website_sources             jsonb not null default '[]',
  indexing_params             jsonb not null,
  user_metadata_schema        jsonb not null default '{"properties": {}}',
  dataloader_metadata_schema  jsonb not null default '{"properties": {}}',
  schedule_cron               text,
  last_sync_id                uuid,
  last_synced_at              timestamptz,
  revision                    integer not null default 1,
  created_at                  timestamptz not null default now(),
  updated_at                  timestamptz not null default now(),
  -- Deleted for every request from here on; housekeeping removes the rows in batches.
  deleted_at                  timestamptz,
  -- The schedule that Temporal has, as far as is known; where it differs from the wanted one, a sweeper mends it.
  applied_cron                text,
  -- What Temporal has refused as a schedule, and why: it is not asked again until the row asks for something else.
  refused_cron                text,
  schedule_error              text
);
create index knowledge_bases_org_idx on knowledge_bases (org_id, knowledge_base_id) where deleted_at is null;
create index knowledge_bases_deleted_idx on knowledge_bases (deleted_at) where deleted_at is not null;
create index knowledge_bases_schedule_idx on knowledge_bases (knowledge_base_id)
  where applied_cron is distinct from (case when deleted_at is null then schedule_cron end);

create table knowledge_resources (
  resource_id          uuid primary key,
  org_id               uuid not null,
  knowledge_base_id    uuid not null references knowledge_bases,
  resource_path        text not null,
  source               text not null check (source in ('upload', 'url', 'text')),
  source_url           text,
  external_id          text,
  status               text not null default 'pending'
                       check (status in ('pending', 'resource', 'parsed', 'indexed', 'error', 'pending_delete')),
  error                jsonb,
  content_hash         text,
  content_mime         text,
  size                 bigint not null default 0,
  -- The original bytes and the extracted text, as keys of the blob store; the text's length in UTF-16 units.
  blob_key             text,
  text_blob_key        text,
  text_length          integer,
  -- The revision of the text that is being indexed or was last: chunks of another one are never found.
  revision             integer not null default 0,
  chunk_count          integer not null default 0,
  page_count           integer,
  user_metadata        jsonb not null default '{}',
  dataloader_metadata  jsonb not null default '{}',
  created_at           timestamptz not null default now(),
  modified_at          timestamptz not null default now(),
  indexed_at           timestamptz,
  -- When it was last seen to that a resource that is still to be indexed has a workflow: sweepers take turns.
  checked_at           timestamptz not null default now(),
  -- Whether a source of the knowledge base lists it: a sync removes it when the source no longer does.
  from_source          boolean not null default false,
  -- What its address answered with the bytes, for conditional requests.
  etag                 text,
  last_modified        text
);
create index knowledge_resources_list_idx on knowledge_resources (knowledge_base_id, resource_id);
create index knowledge_resources_status_idx on knowledge_resources (knowledge_base_id, status, resource_id);
create index knowledge_resources_path_idx on knowledge_resources (knowledge_base_id, resource_path text_pattern_ops);
create index knowledge_resources_hash_idx on knowledge_resources (knowledge_base_id, content_hash);
create unique index knowledge_resources_external_key on knowledge_resources (knowledge_base_id, external_id)
  where external_id is not null and status <> 'pending_delete';
create index knowledge_resources_delete_idx on knowledge_resources (modified_at) where status = 'pending_delete';
create index knowledge_resources_check_idx on knowledge_resources (checked_at) where status in ('pending', 'resource', 'parsed');
create index knowledge_resources_url_idx on knowledge_resources (knowledge_base_id, md5(source_url)) where source_url is not null;

-- One set of chunks with their keyword index and embeddings, made with the same settings.
create table knowledge_indexes (
  -- A small number, because every posting carries it.
  index_no           integer generated always as identity primary key,
  org_id             uuid not null,
  knowledge_base_id  uuid not null references knowledge_bases,
  state              text not null check (state in ('building', 'active', 'retired')),
  -- The indexing_params it is made with.
  params             jsonb not null,
  -- Null: keyword search only.
  embedding_model    text,
  dimensions         integer check (dimensions between 1 and 16000),
  -- Text search configurations its chunks were stemmed with: a query is stemmed with each of them.
  languages          text[] not null default '{}',
  -- Of what can be found; document frequencies come from the postings themselves.
  chunk_count        integer not null default 0,
  term_count         bigint not null default 0,
  next_chunk_no      integer not null default 1,
  -- Changes with what can be found: caches of vectors are compared with it.
  version            bigint not null default 1,
  -- Whether knowledge_vectors holds its vectors, with an HNSW index of their own.
  has_hnsw           boolean not null default false,
  created_at         timestamptz not null default now(),
  -- How many resources can be found in an index: counting those of a large knowledge base took longer than searching it.
  resource_count     integer not null default 0
);
create unique index knowledge_indexes_active_key on knowledge_indexes (knowledge_base_id) where state = 'active';
create unique index knowledge_indexes_building_key on knowledge_indexes (knowledge_base_id) where state = 'building';
create index knowledge_indexes_retired_idx on knowledge_indexes (index_no) where state = 'retired';

-- Which revision of a resource can be found in an index. Chunks are written in batches before this row names their
-- revision, and removed in batches after it does so no longer: a search sees a resource whole or not at all.
create table knowledge_index_resources (
  index_no     integer not null references knowledge_indexes,
  resource_id  uuid not null references knowledge_resources,
  org_id       uuid not null,
  revision     integer not null,
  chunk_count  integer not null,
  term_count   bigint not null,
  primary key (index_no, resource_id)
);
create index knowledge_index_resources_resource_idx on knowledge_index_resources (resource_id);

create table knowledge_chunks (
  chunk_id     uuid primary key,
  org_id       uuid not null,
  index_no     integer not null references knowledge_indexes,
  -- Counts within the index, and is what postings and embeddings refer to.
  chunk_no     integer not null,
  resource_id  uuid not null references knowledge_resources,
  revision     integer not null,
  -- Position within the resource, from 0.
  chunk_index  integer not null,
  text         text not null,
  -- The headings above it: indexed with the text, and not part of it.
  context      text not null default '',
  -- UTF-16 units of the resource's extracted text.
  char_start   integer not null,
  char_end     integer not null,
  page_start   integer,
  page_end     integer,
  metadata     jsonb not null default '{}',
  language     text not null,
  -- With positions, for phrases.
  lexemes      tsvector not null,
  term_count   integer not null,
  -- By which rules the words of a chunk were found: WORD_RULES in src/domain/knowledge/words.ts. Chunks of earlier rules have the words
  -- that Postgres' parser made of them, which lost those beside typographic punctuation where lc_ctype is C. The workers index them
  -- again, from the text that is stored. The partial index has the ones that are left; writing a chunk of the present rules costs nothing.
  word_rules   smallint not null default 0
);
-- Search looks up by chunk_no which resource and revision a chunk is of, without reading the chunk.
create unique index knowledge_chunks_no_key on knowledge_chunks (index_no, chunk_no) include (resource_id, revision);
create unique index knowledge_chunks_position_key on knowledge_chunks (index_no, resource_id, revision, chunk_index);
create index knowledge_chunks_resource_idx on knowledge_chunks (resource_id, revision);
create index knowledge_chunks_word_rules_idx on knowledge_chunks (index_no, chunk_no) where word_rules < 1;

-- The keyword index: how often a term occurs in a chunk, and the chunk's length in terms. A search reads it from the
-- primary key alone, once it has been vacuumed; hence vacuums after few inserts. It has no foreign keys: 120 rows a chunk
-- are written with the chunk and removed with it. Collation "C": prefixes are ranges.
create table knowledge_postings (
  index_no  integer not null,
  term      text collate "C" not null,
  chunk_no  integer not null,
  tf        smallint not null,
  length    smallint not null,
  primary key (index_no, term, chunk_no) include (tf, length)
) with (autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_vacuum_insert_threshold = 10000);
create index knowledge_postings_chunk_idx on knowledge_postings (index_no, chunk_no);

create table knowledge_embeddings (
  index_no   integer not null,
  chunk_no   integer not null,
  org_id     uuid not null,
  -- SHA-256 of what was embedded: the same text is not embedded twice.
  text_hash  bytea not null,
  -- IEEE 754 halves, little-endian, of length 1 as a vector.
  vector     bytea not null,
  primary key (index_no, chunk_no)
);
alter table knowledge_embeddings alter column vector set storage external;
create index knowledge_embeddings_hash_idx on knowledge_embeddings (index_no, text_hash);

-- Syncs: what a knowledge base's sources hold is read again, and what changed is indexed again. The state of a sync is in
-- these tables; its workflow only sees to it that some worker continues it.
create table knowledge_syncs (
  sync_id              uuid primary key,
  org_id               uuid not null,
  knowledge_base_id    uuid not null references knowledge_bases on delete cascade,
  mode                 text not null check (mode in ('incremental', 'full', 'dry_run')),
  delete_missing       boolean not null,
  trigger              text not null check (trigger in ('request', 'schedule')),
  state                text not null default 'pending' check (state in ('pending', 'running', 'completed', 'failed', 'cancelled')),
  -- How far the sources have been listed: null before the first page, {"done": true} after the last.
  position             jsonb,
  -- Whether some part of a source could not be listed: nothing is taken for missing then.
  listing_incomplete   boolean not null default false,
  error                jsonb,
  added                integer not null default 0,
  updated              integer not null default 0,
  deleted              integer not null default 0,
  unchanged            integer not null default 0,
  failed               integer not null default 0,
  total                integer not null default 0,
  cancel_requested_at  timestamptz,
  -- When a worker last worked on it, or made sure that one does.
  checked_at           timestamptz not null default now(),
  created_at           timestamptz not null default now(),
  started_at           timestamptz,
  finished_at          timestamptz,
  -- The sources that a sync reads: the ones that its knowledge base had when it was asked for. Items refer to them by number, so
  -- a change of the knowledge base must not reach a sync that runs. Null once it has ended, and for syncs from before.
  sources              jsonb
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
  -- read: fetch it and index what changed; index: index the stored bytes again; delete; list: a part of a source that was not listed.
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

-- Vectors of large indexes once more, each with a partial HNSW index of its own (so a search never walks through
-- another organisation's vectors). Without pgvector search stays exact.
do $$
begin
  create extension if not exists vector;
exception when others then
  raise notice 'pgvector is not available (%): vectors are searched exactly', sqlerrm;
end
$$;
do $$
begin
  if to_regtype('halfvec') is null then
    return;
  end if;
  create table knowledge_vectors (
    index_no   integer not null,
    chunk_no   integer not null,
    org_id     uuid not null,
    -- Of any dimension: an index is on a cast to its own.
    embedding  halfvec not null,
    primary key (index_no, chunk_no),
    -- Whoever removes an embedding removes the copy, whether or not there is one.
    foreign key (index_no, chunk_no) references knowledge_embeddings on delete cascade
  );
end
$$;
