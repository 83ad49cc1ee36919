-- Knowledge bases: their resources, and the index that is searched. A knowledge base has one active index, and a second
-- one while it is being indexed anew with other settings; chunks, postings and embeddings belong to an index, so that
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
  deleted_at                  timestamptz
);
create index knowledge_bases_org_idx on knowledge_bases (org_id, knowledge_base_id) where deleted_at is null;
create index knowledge_bases_deleted_idx on knowledge_bases (deleted_at) where deleted_at is not null;

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
  indexed_at           timestamptz
);
create index knowledge_resources_list_idx on knowledge_resources (knowledge_base_id, resource_id);
create index knowledge_resources_status_idx on knowledge_resources (knowledge_base_id, status, resource_id);
create index knowledge_resources_path_idx on knowledge_resources (knowledge_base_id, resource_path text_pattern_ops);
create index knowledge_resources_hash_idx on knowledge_resources (knowledge_base_id, content_hash);
create unique index knowledge_resources_external_key on knowledge_resources (knowledge_base_id, external_id)
  where external_id is not null and status <> 'pending_delete';
create index knowledge_resources_delete_idx on knowledge_resources (modified_at) where status = 'pending_delete';

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
  created_at         timestamptz not null default now()
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
  term_count   integer not null
);
-- Search looks up by chunk_no which resource and revision a chunk is of, without reading the chunk.
create unique index knowledge_chunks_no_key on knowledge_chunks (index_no, chunk_no) include (resource_id, revision);
create unique index knowledge_chunks_position_key on knowledge_chunks (index_no, resource_id, revision, chunk_index);
create index knowledge_chunks_resource_idx on knowledge_chunks (resource_id, revision);

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

-- ---------------------------------------------------------------- row-level security
do $$
declare
  name text;
begin
  foreach name in array array['knowledge_bases', 'knowledge_resources', 'knowledge_indexes', 'knowledge_index_resources',
      'knowledge_chunks', 'knowledge_embeddings'] loop
    execute format('alter table %I enable row level security', name);
    execute format('create policy org_rows on %I to millrace_app using (org_id = current_org()) with check (org_id = current_org())', name);
    execute format('grant select, insert, update, delete on %I to millrace_app', name);
  end loop;
end
$$;
-- 16 bytes of organisation in each posting would be a third of the table: its index tells whose it is. The array is made
-- once a statement.
alter table knowledge_postings enable row level security;
create policy org_rows on knowledge_postings to millrace_app
  using (index_no = any (array(select i.index_no from knowledge_indexes i where i.org_id = current_org())))
  with check (index_no = any (array(select i.index_no from knowledge_indexes i where i.org_id = current_org())));
grant select, insert, update, delete on knowledge_postings to millrace_app;

-- Searches run as a role of their own, which reads these tables and nothing else. Operators such as @@ and <=> are not
-- leakproof, so under a policy Postgres would apply them only to rows it has already checked, and never through an index.
-- Every statement of this role therefore names the organisation itself.
do $$
begin
  if not exists (select from pg_roles where rolname = 'millrace_search') then
    create role millrace_search nologin;
  end if;
exception when duplicate_object or unique_violation then
  null; -- another database of this cluster is being migrated at the same time; roles are the cluster's
end
$$;
do $$ begin execute format('grant millrace_search to %I', current_user); exception when others then null; end $$;
do $$ begin execute format('grant usage on schema %I to millrace_search', current_schema()); end $$;
do $$
declare
  name text;
begin
  foreach name in array array['knowledge_bases', 'knowledge_resources', 'knowledge_indexes', 'knowledge_index_resources',
      'knowledge_chunks', 'knowledge_embeddings', 'knowledge_postings'] loop
    execute format('create policy searched_rows on %I for select to millrace_search using (true)', name);
    execute format('grant select on %I to millrace_search', name);
  end loop;
end
$$;

-- ---------------------------------------------------------------- approximate search, where pgvector is installed
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
  alter table knowledge_vectors enable row level security;
  create policy org_rows on knowledge_vectors to millrace_app using (org_id = current_org()) with check (org_id = current_org());
  grant select, insert, update, delete on knowledge_vectors to millrace_app;
  create policy searched_rows on knowledge_vectors for select to millrace_search using (true);
  grant select on knowledge_vectors to millrace_search;
end
$$;
