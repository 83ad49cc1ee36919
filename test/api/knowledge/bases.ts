import { expect } from "vitest";
import { loadConfig } from "../../../src/config.ts";
import { openKnowledge } from "../../../src/services/knowledge/open-knowledge.ts";
import { listIndexes } from "../../../src/stores/knowledge/indexes.ts";
import { addResource, type ResourceOptions } from "../../services/knowledge/knowledge.ts";
import type { Answer } from "../../support/client.ts";
import type { ApiTenant } from "../tenant.ts";

export const PATH = "/v2/knowledge-bases";
export const KEYWORDS = { embedding_params: { embedding_model: null } };

/** Creates a knowledge base without embeddings; returns its path. */
export async function create(
  { secret }: ApiTenant,
  members: Record<string, unknown> = {},
): Promise<{ path: string; body: Answer["body"] }> {
  const { status, body } = await secret.post(PATH, { name: "test", indexing_params: KEYWORDS, ...members });
  expect(status, JSON.stringify(body)).toBe(201);
  return { path: `${PATH}/${body.knowledge_base_id}`, body };
}

/** Adds an indexed document with these chunks, as the worker does; returns its ID. */
export async function index(
  { target, org_id, withDatabase }: ApiTenant,
  knowledge_base_id: string,
  texts: readonly string[],
  options: ResourceOptions,
): Promise<string> {
  return withDatabase(async (database) => {
    const knowledge = openKnowledge(loadConfig({ DATABASE_URL: target.databaseUrl }), database);
    const [active] = await database.org(org_id, (db) => listIndexes(db, knowledge_base_id));
    if (active === undefined) throw new Error("a knowledge base has an index from the beginning");
    const resource = await addResource(
      { database, knowledge },
      { org_id, knowledge_base_id, index: active },
      texts,
      options,
    );
    await knowledge.close();
    return resource;
  });
}
