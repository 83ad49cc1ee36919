import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { ApiClient } from "../cli/api-client.ts";
import { findByName } from "../cli/flow-file.ts";

/**
 * Creates the knowledge base with this name if it does not exist, and adds the documents of a folder, all of them text; they are indexed in
 * the background. Existing documents are not changed. Returns its ID.
 */
export async function provideKnowledgeBase(api: ApiClient, folder: string, name: string): Promise<string> {
  const id = (await findByName(api, "knowledge_base", name)) ?? (await create(api, name));
  const files = (await readdir(folder)).toSorted();
  const resources = await Promise.all(
    files.map(async (file) => ({ name: file, external_id: file, text: await readFile(join(folder, file), "utf8") })),
  );
  await api.post(`/v2/knowledge-bases/${id}/resources`, { resources });
  return id;
}

async function create(api: ApiClient, name: string): Promise<string> {
  // Small chunks, because laws are short, and each has a different subject.
  const indexing_params = { chunker_params: { chunk_size: 800, chunk_overlap: 100 } };
  const body = { name, description: "Documents of the examples", indexing_params };
  return (await api.post<{ knowledge_base_id: string }>("/v2/knowledge-bases", body)).knowledge_base_id;
}
