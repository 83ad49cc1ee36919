import { create } from "../../api/knowledge/bases.ts";
import { settled } from "../../api/knowledge/knowledge-bases.ts";
import type { ApiTenant } from "../../api/tenant.ts";

/** A knowledge base of short passages with one document, which the worker has read and indexed. */
export async function indexedDocument(tenant: ApiTenant, name: string, text: string): Promise<string> {
  const indexing_params = {
    embedding_params: { embedding_model: null },
    chunker_params: { chunk_size: 100, chunk_overlap: 0 },
  };
  const { path, body } = await create(tenant, { name: "Shop handbook", indexing_params });
  const { body: made } = await tenant.secret.post(`${path}/resources`, { name, text });
  await settled(tenant, body.knowledge_base_id, made.resource_id);
  return body.knowledge_base_id;
}
