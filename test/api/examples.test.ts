import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { apiClient } from "../../src/cli/api-client.ts";
import { namesIn, withIds } from "../../src/cli/flow-file.ts";
import type { FlowFile } from "../../src/cli/flow-file.ts";
import type { FlowDefinition } from "../../src/domain/flow/definition/definition.ts";
import { startModelStub, STUB_MODEL } from "../../src/dev/model-stub.ts";
import type { ModelStub } from "../../src/dev/model-stub.ts";
import { provideKnowledgeBase } from "../../src/dev/example-knowledge.ts";
import { KEYWORDS } from "./knowledge/bases.ts";
import { openTenant } from "./tenant.ts";
import type { ApiTenant } from "./tenant.ts";

const folder = new URL("../../examples/", import.meta.url);
const flows = readdirSync(new URL("flows/", folder)).map(
  (file) => JSON.parse(readFileSync(new URL(`flows/${file}`, folder), "utf8")) as FlowFile,
);
const runs = flows.flatMap((flow) =>
  (flow.examples ?? []).map((example) => [flow.name, example.name, example] as const),
);
/** How the pauses of an example are answered. */

let tenant: ApiTenant;
let stub: ModelStub;
const projects = new Map<string, string>();
beforeAll(async () => {
  tenant = await openTenant();
  stub = await startModelStub();
  const credential = { base_url: `${stub.url}/v1` };
  const model = { name: "stub", provider_id: "openai_compatible", scheme: "none", credential };
  const { body: connection } = await tenant.secret.post("/v2/connections", model);
  const defaults = { default_connection_id: connection.connection_id, default_model: STUB_MODEL };
  expect((await tenant.secret.patch("/v2/settings", defaults)).status).toBe(200);
  const searched = [...new Set(flows.flatMap((flow) => namesIn(flow, "knowledge_base")))];
  const bases = new Map(await Promise.all(searched.map(async (name) => [name, await indexed(name)] as const)));
  // Callers after the flows that they call.
  const order = flows.toSorted((a, b) => namesIn(a, "project").length - namesIn(b, "project").length);
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
});

afterAll(() => stub.close());

/** The knowledge base of an example with its documents, searched by keywords. */
async function indexed(name: string): Promise<string> {
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

describe("an example flow runs on its own example input", () => {
  it.each(runs)("%s: %s", async (flow, _, { inputs }) => {
    // Examples call the server they run on.
    const here = JSON.parse(JSON.stringify(inputs).replaceAll("http://127.0.0.1:8080", tenant.target.url));
    const path = `/inference/v0/run/${tenant.org_id}/${projects.get(flow)}`;
    const { status, body } = await tenant.public.post(path, here);
    expect(status, JSON.stringify(body)).toBe(200);
    expect(body.metadata.ignored_inputs).toEqual([]);
    if (body.state === "PAUSED") {
      const answer = { action: "approve", ...(body.pause.form ? { data: { signature: "Ada" } } : {}) };
      expect((await tenant.secret.post(`/v2/runs/${body.run_id}/resume`, answer)).status).toBe(202);
    }
    const run = await tenant.until(body.run_id, "COMPLETED");
    expect(Object.keys(run.outputs).length).toBeGreaterThan(0);
    // Handled failures count too; only the guard of the triage is meant to fail.
    const { nodes } = (await tenant.secret.get(`/v2/runs/${body.run_id}`, { query: { expand: "nodes" } })).body;
    const troubled = nodes.filter(({ error, attempts }: { error: unknown; attempts: number }) => error || attempts > 1);
    expect(troubled).toEqual([]);
  });
});

it("cite-constitution cites the passages that its model quotes", async () => {
  const path = `/inference/v0/run/${tenant.org_id}/${projects.get("cite-constitution")}`;
  const { body } = await tenant.public.post(path, { "in-0": "Who may propose amendments to this Constitution?" });
  expect(body.citations).toContainEqual(
    expect.objectContaining({ resource_path: "constitution.md", node_id: "llm-0" }),
  );
});

it("research-assistant and approved-request call their tools, the latter when a person agrees", async () => {
  const calls = async (name: string, inputs: Record<string, unknown>) => {
    const path = `/inference/v0/run/${tenant.org_id}/${projects.get(name)}`;
    const { body } = await tenant.public.post(path, inputs);
    if (body.state === "PAUSED") {
      expect(body.pause).toMatchObject({ node_id: "llm-0", kind: "approval", data: { tool: "send" } });
      await tenant.secret.post(`/v2/runs/${body.run_id}/resume`, { action: "approve" });
    }
    await tenant.until(body.run_id, "COMPLETED");
    const { nodes } = (await tenant.secret.get(`/v2/runs/${body.run_id}`, { query: { expand: "nodes" } })).body;
    return nodes.find((each: { path: string }) => each.path === "llm-0/tools[0]");
  };
  const found = await calls("research-assistant", { "in-0": "Who may propose amendments?" });
  expect(found.output.text).toContain("[1] ");
  const sent = await calls("approved-request", { "in-0": "Look", "in-1": `${tenant.target.url}/healthz` });
  expect([sent.state, sent.output.status]).toEqual(["COMPLETED", 200]);
});

it("ask-constitution answers with the passage, and cites it", async () => {
  const path = `/inference/v0/run/${tenant.org_id}/${projects.get("ask-constitution")}`;
  const { body } = await tenant.public.post(path, { "in-0": "Who may propose amendments to this Constitution?" });
  expect(body.outputs["out-0"]).toMatch(
    /whenever two thirds of both Houses[^]*constitution\.md, characters \d+ to \d+/,
  );
  expect(body.citations).toContainEqual(expect.objectContaining({ resource_path: "constitution.md", node_id: "kb-0" }));
});

describe("the examples of the OpenAPI document", () => {
  it("work when they are pasted, wherever they name nothing that has to be there before", async () => {
    const { body: document } = await tenant.secret.get("/openapi.json");
    let sent = 0;
    for (const [path, { post }] of Object.entries<Record<string, Operation | undefined>>(document.paths)) {
      const examples = Object.entries(post?.requestBody?.content["application/json"]?.examples ?? {});
      // Encryption by hand is for a credential of the installation.
      if (path.includes("{") || path === "/temporal/codec/encode") continue;
      for (const [name, { value }] of examples) {
        if (/"(project|flow|evaluator|connection)_ids?"|"mcp":/.test(JSON.stringify(value))) continue;
        const { status, body } = await tenant.secret.post(path, value);
        expect([path, name, status, status >= 300 && body]).toEqual([
          path,
          name,
          expect.toBeOneOf([200, 201, 202]),
          false,
        ]);
        sent++;
      }
    }
    expect(sent).toBeGreaterThan(5);
  });

  it("replay the events of a time that is never over", async () => {
    const { body: document } = await tenant.secret.get("/openapi.json");
    const path = "/v2/webhooks/subscriptions/{subscription_id}/replay";
    const subscription = await tenant.secret.post("/v2/webhooks/subscriptions", {
      url: `${tenant.target.url}/healthz`,
      events: ["run.*"],
    });
    const { examples } = document.paths[path].post.requestBody.content["application/json"];
    for (const { value } of Object.values<{ value: unknown }>(examples)) {
      const { status, body } = await tenant.secret.post(
        path.replace("{subscription_id}", subscription.body.subscription_id),
        value,
      );
      expect([status, body.since < body.until]).toEqual([202, true]);
    }
  });
});

interface Operation {
  readonly requestBody?: {
    readonly content: Record<string, { readonly examples?: Record<string, { readonly value: unknown }> }>;
  };
}
