import { afterAll, beforeAll } from "vitest";
import { uuidv7 } from "uuidv7";
import { loadConfig } from "../../../src/config.ts";
import { indexingParamsSchema, type NewChunk } from "../../../src/domain/knowledge/knowledge-base.ts";
import type { Metadata, MetadataSchema } from "../../../src/domain/knowledge/metadata.ts";
import {
  knowledgeQuerySchema,
  type KnowledgeAnswer,
  type KnowledgeQueryInput,
} from "../../../src/domain/knowledge/query.ts";
import { indexResource } from "../../../src/services/knowledge/index-resource.ts";
import { openKnowledge, type Knowledge } from "../../../src/services/knowledge/open-knowledge.ts";
import { queryKnowledgeBase } from "../../../src/services/knowledge/query.ts";
import { insertIndex, type IndexRow } from "../../../src/stores/knowledge/indexes.ts";
import { findKnowledgeBase, insertKnowledgeBase } from "../../../src/stores/knowledge/knowledge-bases.ts";
import { restartResource } from "../../../src/stores/knowledge/resource-ingest.ts";
import { insertResource } from "../../../src/stores/knowledge/resources.ts";
import type { Database } from "../../../src/stores/db.ts";
import { testDatabase } from "../../support/database.ts";
import { startModelServer, type ModelServer } from "../../support/model-server.ts";

const API_KEY = "sk-of-the-test";

/** A database, a model server and the dependencies of knowledge bases, for one test file. */
export interface Own {
  readonly database: Database;
  readonly models: ModelServer;
  readonly knowledge: Knowledge;
  /** The same with a reranker. */
  readonly reranking: Knowledge;
}

export function ownKnowledge(open: typeof testDatabase = testDatabase): Own {
  let own: Own | undefined;
  const closers: (() => Promise<unknown>)[] = [];
  beforeAll(async () => {
    const { database, url, close } = await open();
    closers.push(close);
    const models = await startModelServer(API_KEY);
    closers.unshift(() => models.close());
    const environment = {
      DATABASE_URL: url,
      MILLRACE_EMBEDDINGS_URL: `${models.url}/v1/embeddings`,
      MILLRACE_EMBEDDINGS_API_KEY: API_KEY,
    };
    const rerank = { MILLRACE_RERANK_URL: `${models.url}/v1/rerank`, MILLRACE_RERANK_API_KEY: API_KEY };
    const knowledge = openKnowledge(loadConfig(environment), database);
    const reranking = openKnowledge(loadConfig({ ...environment, ...rerank }), database);
    closers.unshift(
      () => knowledge.close(),
      () => reranking.close(),
    );
    own = { database, models, knowledge, reranking };
  });
  afterAll(async () => {
    for (const close of closers) await close();
  });
  const get = (): Own => {
    if (own === undefined) throw new Error("the database is there from beforeAll on");
    return own;
  };
  return {
    get database() {
      return get().database;
    },
    get models() {
      return get().models;
    },
    get knowledge() {
      return get().knowledge;
    },
    get reranking() {
      return get().reranking;
    },
  };
}

export interface BuiltBase {
  readonly org_id: string;
  readonly knowledge_base_id: string;
  readonly index: IndexRow;
}

export interface BaseOptions {
  readonly org_id?: string;
  readonly model?: string | null;
  readonly user?: MetadataSchema["properties"];
  readonly dataloader?: MetadataSchema["properties"];
}

async function buildOrganisation(database: Database): Promise<string> {
  const org_id = uuidv7();
  await database.system((db) => db.query("insert into organisations (org_id, name) values ($1, 'test')", [org_id]));
  return org_id;
}

/** A knowledge base with an empty index. */
export async function buildBase(database: Database, options: BaseOptions = {}): Promise<BuiltBase> {
  const { model = null, user = {}, dataloader = {} } = options;
  const org_id = options.org_id ?? (await buildOrganisation(database));
  const knowledge_base_id = uuidv7();
  const params = indexingParamsSchema.parse({ embedding_params: { embedding_model: model } });
  const index = await database.org(org_id, async (db) => {
    await insertKnowledgeBase(db, {
      knowledge_base_id,
      org_id,
      name: "test",
      description: "",
      connection_id: null,
      connection_source_ids: [],
      website_sources: [],
      indexing_params: params,
      user_metadata_schema: { properties: user },
      dataloader_metadata_schema: { properties: dataloader },
      schedule_cron: null,
    });
    const state = "active" as const;
    return insertIndex(db, { org_id, knowledge_base_id, state, params, embedding_model: model, dimensions: null });
  });
  return { org_id, knowledge_base_id, index };
}

export interface ResourceOptions {
  readonly path?: string;
  readonly user_metadata?: Metadata;
  readonly dataloader_metadata?: Metadata;
}

/** Adds a resource that has not been indexed. */
export async function buildResource(
  database: Database,
  { org_id, knowledge_base_id }: BuiltBase,
  { path, user_metadata = {}, dataloader_metadata = {} }: ResourceOptions = {},
): Promise<string> {
  const resource_id = uuidv7();
  await database.org(org_id, async (db) => {
    await insertResource(db, {
      resource_id,
      org_id,
      knowledge_base_id,
      resource_path: path ?? `${resource_id}.txt`,
      source: "text",
      source_url: null,
      external_id: null,
      content_hash: null,
      content_mime: "text/plain",
      size: 1,
      blob_key: null,
      user_metadata,
    });
    const set = "update knowledge_resources set dataloader_metadata = $2::jsonb where resource_id = $1::uuid";
    await db.query(set, [resource_id, JSON.stringify(dataloader_metadata)]);
  });
  return resource_id;
}

/** Consecutive chunks with these texts. */
export function chunksOf(texts: readonly string[]): NewChunk[] {
  let at = 0;
  return texts.map((text, chunk_index) => {
    const char_start = at;
    at += text.length + 1;
    const char_end = char_start + text.length;
    return { chunk_index, text, context: "", char_start, char_end, page_start: null, page_end: null, metadata: {} };
  });
}

/** Starts a new revision of a resource; null if it is being deleted. */
export const beginRevision = (database: Database, orgId: string, resourceId: string): Promise<number | null> =>
  database.org(orgId, (db) => restartResource(db, resourceId));

/** Adds an indexed resource with these chunks to a knowledge base; returns its ID. */
export async function addResource(
  { database, knowledge }: Pick<Own, "database" | "knowledge">,
  base: BuiltBase,
  texts: readonly string[],
  options: ResourceOptions = {},
): Promise<string> {
  const resource_id = await buildResource(database, base, options);
  const revision = (await beginRevision(database, base.org_id, resource_id)) ?? 0;
  const indexed = await indexResource(knowledge.deps, base.index, { resource_id, revision }, chunksOf(texts));
  if (!indexed) throw new Error("the resource was not indexed");
  return resource_id;
}

/** Queries a knowledge base as its own organisation or as another one. */
export async function ask(
  { database }: Pick<Own, "database">,
  knowledge: Knowledge,
  { org_id, knowledge_base_id }: BuiltBase,
  request: KnowledgeQueryInput,
): Promise<KnowledgeAnswer> {
  const base = await database.org(org_id, (db) => findKnowledgeBase(db, knowledge_base_id));
  if (base === null) throw new Error("no such knowledge base");
  return await queryKnowledgeBase(knowledge.deps, org_id, base, knowledgeQuerySchema.parse(request));
}
