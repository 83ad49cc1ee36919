import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, vi } from "vitest";
import { apiClient } from "../../src/cli/api-client.ts";
import { namesIn, withIds, type FlowFile } from "../../src/cli/flow-file.ts";
import type { FlowDefinition } from "../../src/domain/flow/definition/definition.ts";
import { provideKnowledgeBase } from "../../src/dev/example-knowledge.ts";
import { STUB_MODEL, type ModelStub } from "../../src/dev/model-stub.ts";
import { KEYWORDS } from "./knowledge/bases.ts";
import type { ApiTenant } from "./tenant.ts";

const folder = new URL("../../examples/", import.meta.url);

/** The flows in `examples/`. */
const exampleFlows = readdirSync(new URL("flows/", folder)).map(
  (file) => JSON.parse(readFileSync(new URL(`flows/${file}`, folder), "utf8")) as FlowFile,
);

/** The sample inputs in their files. */
export const exampleRuns = exampleFlows.flatMap((flow) =>
  (flow.examples ?? []).map((example) => [flow.name, example.name, example] as const),
);

/** Deploys the example flows with everything they need; returns their projects by name. `credential` is sent to the model server. */
export async function deployExamples(
  tenant: ApiTenant,
  stub: ModelStub,
  credential: { readonly scheme: string; readonly api_key?: string } = { scheme: "none" },
): Promise<ReadonlyMap<string, string>> {
  const { scheme, ...secret } = credential;
  const model = { name: "stub", provider_id: "openai_compatible", scheme };
  const values = { base_url: `${stub.url}/v1`, ...secret };
  const { body: connection } = await tenant.secret.post("/v2/connections", { ...model, credential: values });
  const defaults = { default_connection_id: connection.connection_id, default_model: STUB_MODEL };
  expect((await tenant.secret.patch("/v2/settings", defaults)).status).toBe(200);
  const searched = [...new Set(exampleFlows.flatMap((flow) => namesIn(flow, "knowledge_base")))];
  const bases = new Map(await Promise.all(searched.map(async (name) => [name, await indexed(tenant, name)] as const)));
  const projects = new Map<string, string>();
  // A flow must be deployed after the flows that it calls.
  const order = exampleFlows.toSorted((a, b) => namesIn(a, "project").length - namesIn(b, "project").length);
  for (const flow of order) {
    const called = withIds(flow, (name, kind) => (kind === "project" ? projects : bases).get(name) ?? name);
    projects.set(flow.name, await tenant.deploy(called as unknown as FlowDefinition));
  }
  for (const name of readdirSync(new URL("documents/", folder))) {
    const form = new FormData();
    form.append("file", new Blob([readFileSync(new URL(`documents/${name}`, folder))]), name);
    const query = { org: tenant.org_id, user_id: "ada-1", flow_id: projects.get("document-brief"), node_id: "doc-0" };
    expect((await tenant.public.post("/upload_to_storage_user", form, { query })).status).toBe(200);
  }
  return projects;
}

/** Runs an example flow until it finishes, and approves where it asks; returns the run ID. */
export async function runExample(
  tenant: ApiTenant,
  projectId: string | undefined,
  inputs: Readonly<Record<string, unknown>>,
): Promise<string> {
  // Examples call the server on which they run.
  const here = JSON.parse(JSON.stringify(inputs).replaceAll("http://127.0.0.1:8080", tenant.target.url));
  const { status, body } = await tenant.public.post(`/inference/v0/run/${tenant.org_id}/${projectId}`, here);
  expect(status, JSON.stringify(body)).toBe(200);
  expect(body.metadata.ignored_inputs).toEqual([]);
  if (body.state === "PAUSED") {
    const answer = { action: "approve", ...(body.pause.form ? { data: { signature: "Ada" } } : {}) };
    expect((await tenant.secret.post(`/v2/runs/${body.run_id}/resume`, answer)).status).toBe(202);
  }
  return body.run_id;
}

/** Creates an example's knowledge base with its documents, searched by keywords. */
async function indexed(tenant: ApiTenant, name: string): Promise<string> {
  const { body } = await tenant.secret.post("/v2/knowledge-bases", { name, indexing_params: KEYWORDS });
  const api = apiClient({ url: tenant.target.url, key: tenant.secretKey });
  const id = await provideKnowledgeBase(api, fileURLToPath(new URL(`knowledge/${name}`, folder)), name);
  expect(id).toBe(body.knowledge_base_id);
  const check = async (): Promise<void> => {
    const { total_files, total_indexed_files } = (await tenant.secret.get(`/v2/knowledge-bases/${id}`)).body;
    expect([total_files, total_indexed_files]).toEqual([3, 3]);
  };
  await vi.waitFor(check, { timeout: 60_000, interval: 100 });
  return id;
}
