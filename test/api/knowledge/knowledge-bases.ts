import { uuidv7 } from "uuidv7";
import { expect, vi } from "vitest";
import { indexingParamsSchema } from "../../../src/domain/knowledge/knowledge-base.ts";
import type { MetadataSchema } from "../../../src/domain/knowledge/metadata.ts";
import { insertIndex } from "../../../src/stores/knowledge/indexes.ts";
import { insertKnowledgeBase } from "../../../src/stores/knowledge/knowledge-bases.ts";
import type { Answer } from "../../support/client.ts";
import type { ApiTenant } from "../tenant.ts";

/** Creates a knowledge base with keyword search directly in the database; returns its ID. */
export async function makeBase(
  tenant: Pick<ApiTenant, "org_id" | "withDatabase">,
  fields: MetadataSchema["properties"] = {},
): Promise<string> {
  const { org_id } = tenant;
  const knowledge_base_id = uuidv7();
  const params = indexingParamsSchema.parse({
    embedding_params: { embedding_model: null },
    chunker_params: { chunk_size: 200, chunk_overlap: 40 },
  });
  await tenant.withDatabase((database) =>
    database.org(org_id, async (db) => {
      await insertKnowledgeBase(db, {
        knowledge_base_id,
        org_id,
        name: "test",
        description: "",
        connection_id: null,
        connection_source_ids: [],
        website_sources: [],
        indexing_params: params,
        user_metadata_schema: { properties: fields },
        dataloader_metadata_schema: { properties: {} },
        schedule_cron: null,
      });
      const state = "active" as const;
      await insertIndex(db, { org_id, knowledge_base_id, state, params, embedding_model: null, dimensions: null });
    }),
  );
  return knowledge_base_id;
}

export const resourcesPath = (knowledgeBaseId: string): string => `/v2/knowledge-bases/${knowledgeBaseId}/resources`;

/** A form with a file and fields. */
export function upload(filename: string, bytes: Uint8Array | string, fields: Record<string, string> = {}): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  form.set("file", new Blob([bytes]), filename);
  return form;
}

/** Waits until a document is indexed or has failed; returns it with its text. */
export async function settled(
  { secret }: Pick<ApiTenant, "secret">,
  knowledgeBaseId: string,
  resourceId: string,
): Promise<Answer["body"]> {
  const path = `${resourcesPath(knowledgeBaseId)}/${resourceId}`;
  const check = async (): Promise<void> => {
    expect((await secret.get(path)).body.status).toMatch(/^(indexed|error)$/);
  };
  await vi.waitFor(check, { timeout: 60_000, interval: 100 });
  return (await secret.get(path, { query: { expand: "text" } })).body;
}
