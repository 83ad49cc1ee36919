import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startModelStub, type ModelStub } from "../../src/dev/model-stub.ts";
import { deployExamples, exampleRuns, runExample } from "./example-flows.ts";
import { openTenant, type ApiTenant } from "./tenant.ts";

let tenant: ApiTenant;
let stub: ModelStub;
let projects: ReadonlyMap<string, string>;
beforeAll(async () => {
  tenant = await openTenant();
  stub = await startModelStub();
  projects = await deployExamples(tenant, stub);
});

afterAll(() => stub.close());

describe("an example flow completes with its own example inputs", () => {
  it.each(exampleRuns)("%s: %s", async (flow, _, { inputs }) => {
    const run = await tenant.until(await runExample(tenant, projects.get(flow), inputs), "COMPLETED");
    expect(Object.keys(run.outputs).length).toBeGreaterThan(0);
    // Handled failures count, too; only the guard of the triage flow is expected to fail.
    const { nodes } = (await tenant.secret.get(`/v2/runs/${run.run_id}`, { query: { expand: "nodes" } })).body;
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

it("research-assistant and approved-request call their tools, approved-request after a person approves", async () => {
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

it("ask-constitution outputs the passage, and cites it", async () => {
  const path = `/inference/v0/run/${tenant.org_id}/${projects.get("ask-constitution")}`;
  const { body } = await tenant.public.post(path, { "in-0": "Who may propose amendments to this Constitution?" });
  expect(body.outputs["out-0"]).toMatch(
    /whenever two thirds of both Houses[^]*constitution\.md, characters \d+ to \d+/,
  );
  expect(body.citations).toContainEqual(expect.objectContaining({ resource_path: "constitution.md", node_id: "kb-0" }));
});

describe("the examples of the OpenAPI document", () => {
  it("work when they are pasted, unless they name a resource that must exist first", async () => {
    const { body: document } = await tenant.secret.get("/openapi.json");
    let sent = 0;
    for (const [path, { post }] of Object.entries<Record<string, Operation | undefined>>(document.paths)) {
      const examples = Object.entries(post?.requestBody?.content["application/json"]?.examples ?? {});
      // The codec needs a credential of the installation.
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

  it("replay events of a time range whose start is before its end", async () => {
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
