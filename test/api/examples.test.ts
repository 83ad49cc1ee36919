import { readdirSync, readFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { subflowNames, withProjectIds } from "../../src/cli/flow-file.ts";
import type { FlowFile } from "../../src/cli/flow-file.ts";
import type { FlowDefinition } from "../../src/domain/flow/definition/definition.ts";
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
const ANSWER = { action: "approve", data: { signature: "Ada" } };

let tenant: ApiTenant;
const projects = new Map<string, string>();
beforeAll(async () => {
  tenant = await openTenant();
  // Those that call others after those that they call.
  const order = flows.toSorted((a, b) => subflowNames(a).length - subflowNames(b).length);
  for (const flow of order) {
    const called = withProjectIds(flow, (name) => projects.get(name) ?? name);
    projects.set(flow.name, await tenant.deploy(called as unknown as FlowDefinition));
  }
  for (const name of readdirSync(new URL("documents/", folder))) {
    const form = new FormData();
    form.append("file", new Blob([readFileSync(new URL(`documents/${name}`, folder))]), name);
    const query = { org: tenant.org_id, user_id: "ada-1", flow_id: projects.get("document-brief"), node_id: "doc-0" };
    expect((await tenant.public.post("/upload_to_storage_user", form, { query })).status).toBe(200);
  }
});

describe("an example flow runs on its own example input", () => {
  it.each(runs)("%s: %s", async (flow, _, { inputs }) => {
    // Examples call the server they run on.
    const here = JSON.parse(JSON.stringify(inputs).replaceAll("http://127.0.0.1:8080", tenant.target.url));
    const path = `/inference/v0/run/${tenant.org_id}/${projects.get(flow)}`;
    const { status, body } = await tenant.public.post(path, here);
    expect(status, JSON.stringify(body)).toBe(200);
    expect(body.metadata.ignored_inputs).toEqual([]);
    if (body.state === "PAUSED")
      expect((await tenant.secret.post(`/v2/runs/${body.run_id}/resume`, ANSWER)).status).toBe(202);
    const run = await tenant.until(body.run_id, "COMPLETED");
    expect(Object.keys(run.outputs).length).toBeGreaterThan(0);
    // Handled failures count too; only the guard of the triage is meant to fail.
    const { nodes } = (await tenant.secret.get(`/v2/runs/${body.run_id}`, { query: { expand: "nodes" } })).body;
    const troubled = nodes.filter(({ error, attempts }: { error: unknown; attempts: number }) => error || attempts > 1);
    expect(troubled).toEqual([]);
  });
});

describe("the examples of the OpenAPI document", () => {
  it("work when they are pasted, wherever they name nothing that has to be there before", async () => {
    const { body: document } = await tenant.secret.get("/openapi.json");
    let sent = 0;
    for (const [path, { post }] of Object.entries<Record<string, Operation | undefined>>(document.paths)) {
      const examples = Object.entries(post?.requestBody?.content["application/json"]?.examples ?? {});
      if (path.includes("{")) continue;
      for (const [name, { value }] of examples) {
        if (/"(project|flow)_id"/.test(JSON.stringify(value))) continue;
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
