import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { shareOf } from "../support/long.ts";
import { SEED } from "../support/seed.ts";
import { client, createOrganisation, startService, type OwnService } from "../support/service.ts";
import { asking, echo } from "../api/tenant.ts";
import { edges, flow, node } from "../support/flows.ts";
import { installSchemathesis, runSchemathesis, type KnownIds } from "../security/schemathesis.ts";

/** All phases: the examples, a share of the coverage phase (schemathesis_hooks.py), and this many generated requests per operation. */
const FORM = [
  "--phases",
  "examples,coverage,fuzzing,stateful",
  "--max-examples",
  String(shareOf(12)),
  "--generation-database",
  "none",
];

const installed = installSchemathesis();
if ("skipped" in installed) process.stderr.write(`schemathesis is skipped: ${installed.skipped}\n`);

let service: OwnService;
beforeAll(async () => {
  if ("skipped" in installed) return;
  // No request may wait longer than schemathesis does.
  service = await startService({ env: { MILLRACE_SYNC_WAIT_MS: "5000" } });
}, 600_000);
afterAll(() => service?.close());

/** Creates one resource of each type. */
async function seed(org: string, secretKey: string): Promise<KnownIds> {
  const api = client(service, secretKey);
  const documents = flow({ nodes: [node("doc-0", "files"), node("out-0", "output")], edges: edges("doc-0 > out-0") });
  const project = async (definition?: object): Promise<string> => {
    const { body } = await api.post("/v2/projects", { name: "s", ...(definition && { flow: definition }) });
    return body.project_id;
  };
  const run = async (project_id: string): Promise<string> => {
    const { body } = await api.post("/v2/runs", { project_id, inputs: { "in-0": "x" }, mode: "sync" });
    return body.run_id;
  };
  // This address never responds, so failed deliveries remain in the list.
  const subscribe = async (): Promise<string> => {
    const { body } = await api.post("/v2/webhooks/subscriptions", { url: "https://receiver.invalid/", events: ["*"] });
    return body.subscription_id;
  };
  const subscription = await subscribe();
  const { body: delivery } = await api.post(`/v2/webhooks/subscriptions/${subscription}/test`);
  const echoing = await project(echo());
  const pausing = await project(asking({ required_approvals: 2 }));
  const reading = await project(documents);
  const form = new FormData();
  form.set("file", new Blob(["some text"]), "a.txt");
  const query = { org, user_id: "u-1", flow_id: reading, node_id: "doc-0" };
  expect((await api.post("/upload_to_storage_user", form, { query })).status).toBe(200);
  return {
    org,
    projects: [echoing, pausing],
    flows: [echoing, reading],
    runs: [await run(echoing), await run(pausing)],
    subscriptions: [subscription],
    deliveries: [delivery.delivery_id],
    spare: [await subscribe(), await subscribe()],
    disposable: [await project(), await project(echo())],
  };
}

it.skipIf("skipped" in installed)(
  "schemathesis finds no difference between the OpenAPI document and the service",
  // The same seed generates the same requests, so a failure can be reproduced and a retry is useless.
  { timeout: 3_600_000, retry: 0 },
  async () => {
    if ("skipped" in installed) return;
    const { org_id, secretKey } = await createOrganisation(service);
    const ids = await seed(org_id, secretKey);
    const { code, output } = await runSchemathesis({
      command: installed.command,
      url: service.url,
      credential: secretKey,
      ids,
      dir: mkdtempSync(join(inject("millrace").stateDir, "schemathesis-")),
      args: [...FORM, "--seed", String(SEED)],
    });
    process.stderr.write(output);
    expect(code, output).toBe(0);
    // Operations that sign in or have their own kind of credential; for all others some request passes authentication.
    const [, refused = "0"] = /Authentication failed: (\d+) operation/.exec(output) ?? [];
    expect(Number(refused)).toBeLessThanOrEqual(3);
    // The installation has logged no internal errors.
    expect(service.logs()).not.toContain('"level":"error"');
  },
);
