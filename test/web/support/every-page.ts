import type { Page } from "playwright-core";
import { startModelStub } from "../../../src/dev/model-stub.ts";
import { doJob, makeDataset, makeEvaluator, makeExperiment, rowsPath } from "../../api/evals/evals.ts";
import { failing } from "../../api/tenant.ts";
import { flow, nested } from "../../engine/support.ts";
import { expect } from "vitest";
import { LONG } from "../../support/long.ts";
import { checkBothLooks, checkOneLook, text } from "./console.ts";
import { pausedRun } from "./pauses.ts";
import { tenant } from "./shared-console.ts";

/** A name that would run a script if it were treated as markup. */
const HOSTILE = "<img src=x onerror=alert(1)>";

/**
 * Checks that a page runs no injected script and has no axe violation. `npm test` looks at a page once: in turns dark and narrow, and light
 * and wide.
 */
export async function expectHarmless(page: Page, what: string, turn: number): Promise<void> {
  await (LONG ? checkBothLooks(page, what) : checkOneLook(page, what, turn));
  expect(await page.locator("img").count(), what).toBe(0);
}

interface Shown {
  /** The path of every page, and what is there once it is loaded. */
  readonly pages: ReadonlyArray<readonly [path: string, ready: readonly ["heading" | "region", string]]>;
  /** The dialogs, by the path of their page. */
  readonly dialogs: ReadonlyArray<readonly [path: string, open: (page: Page) => Promise<unknown>]>;
}

/** Fills the console with hostile names, so that every page has something to show. */
export async function everyPage(): Promise<Shown> {
  const definition = failing();
  const nodes = definition.nodes.map((node) => ({ ...node, name: HOSTILE }));
  const hostile = await tenant.secret.post("/v2/projects", { name: HOSTILE, flow: { ...definition, nodes } });
  const { body: run } = await tenant.secret.post("/v2/runs", {
    project_id: hostile.body.project_id,
    inputs: { "in-0": HOSTILE },
    tags: [HOSTILE],
    metadata: { [HOSTILE]: HOSTILE },
    user_id: HOSTILE,
    mode: "sync",
  });
  const { pause_id, run_id: open } = await pausedRun(tenant, HOSTILE);
  const { body: again } = await tenant.secret.post("/v2/runs", {
    project_id: hostile.body.project_id,
    inputs: { "in-0": `${HOSTILE} once more` },
    mode: "sync",
  });
  const talk = await talked();
  const mapped = await failedInMap();
  await addStuck();
  const { body: hook } = await tenant.secret.post("/v2/webhooks/subscriptions", {
    url: "http://127.0.0.1:9/hook",
    events: ["run.*"],
    description: HOSTILE,
  });
  await tenant.secret.post("/v2/api-keys", { name: HOSTILE, kind: "public" });
  const { body: base } = await tenant.secret.post("/v2/knowledge-bases", { name: HOSTILE });
  const documents = `/v2/knowledge-bases/${base.knowledge_base_id}/resources`;
  const { body: document } = await tenant.secret.post(documents, { name: HOSTILE, text: HOSTILE });
  const experiment = await hostileExperiment();
  const { body: guest } = await tenant.secret.post("/v2/users", {
    email: "guest@example.test",
    password: "a long enough password",
    role: "member",
  });
  // The list of projects is newest first.
  const { body: projects } = await tenant.secret.get("/v2/projects");
  await tenant.secret.put(`/v2/projects/${projects.data[0].project_id}/members/${guest.user_id}`, { role: "viewer" });
  const { body: delivery } = await tenant.secret.post(`/v2/webhooks/subscriptions/${hook.subscription_id}/test`);
  const press =
    (...names: string[]) =>
    async (page: Page): Promise<void> => {
      for (const name of names) await page.locator("button, summary").filter({ hasText: name }).first().click();
      await page.getByRole("dialog").waitFor();
    };
  const flowId = hostile.body.project_id as string;
  const { body: trigger } = await tenant.secret.post("/v2/triggers", {
    project_id: flowId,
    provider_id: "millrace",
    trigger_id: "webhook",
    inputs: {},
  });
  const changed = nodes.map((node) => (node.id === "guard-0" ? { ...node, notes: HOSTILE } : node));
  await tenant.secret.put(`/v2/projects/${flowId}/draft`, {
    flow: { ...definition, description: HOSTILE, nodes: changed },
  });
  const { body: shared } = await tenant.secret.post(`/v2/projects/${flowId}/pages`, {
    kind: "form",
    look: { name: HOSTILE, welcome: HOSTILE },
  });
  const dialogs: Shown["dialogs"] = [
    ["/flows?create=empty", (page) => page.getByLabel("Name").waitFor()],
    ["/flows?create=example", (page) => page.getByText("hello", { exact: true }).waitFor()],
    ["/flows?create=paste", (page) => page.getByLabel("Flow (JSON)").fill(HOSTILE)],
    [`/flows/${flowId}`, press("Publish…")],
    [`/flows/${flowId}/call`, press("Create key…")],
    [`/flows/${flowId}/pages?create=page`, (page) => page.getByLabel("Welcome (optional)").fill(HOSTILE)],
    [`/flows/${flowId}/pages?share=${shared.page_id}`, (page) => text(page, "On your website")],
    [`/flows/${flowId}/pages`, press("Revoke…")],
    [`/flows/${flowId}/environments`, press("Promote…")],
    ["/runs", press("All matching runs", "Cancel…")],
    ["/runs", press("All matching runs", "Rerun…")],
    [`/runs/${open}`, press("Cancel…")],
    [`/runs/${run.run_id}`, press("Rerun…")],
    [`/runs/${run.run_id}`, press("Resume from…")],
    [`/runs/${run.run_id}`, press("Compare…")],
    [`/runs/${run.run_id}`, press("Add to dataset…")],
    [`/runs/${mapped}?node=map-0[0]/guard-0`, press(`Resume from ${HOSTILE}…`)],
    ["/webhooks", press("Add webhook")],
    [`/webhooks/${hook.subscription_id}`, press("Replay…")],
    [`/webhooks/${hook.subscription_id}`, press("Check a signature…")],
    [`/webhooks/${hook.subscription_id}?delivery=${delivery.delivery_id}`, (page) => text(page, "Payload")],
    [
      `/background/knowledge-bases/${base.knowledge_base_id}?document=${document.resource_id}`,
      (page) => text(page, "Chunks"),
    ],
    ["/access", press("Add a user")],
    ["/access?tab=keys", press("Create API key")],
    [
      "/access?tab=keys",
      async (page) => {
        await press("Create API key")(page);
        await page.keyboard.type(HOSTILE);
        await page.keyboard.press("Enter");
        await page.getByRole("dialog", { name: "New API key" }).waitFor();
      },
    ],
    ["/access?tab=keys", press("Revoke…")],
    [
      "/retention",
      async (page) => {
        await page.getByLabel("Days for the organisation").fill("7");
        await page.keyboard.press("Enter");
      },
    ],
    ["/settings", (page) => page.keyboard.press("Control+k")],
    ["/settings", (page) => page.keyboard.press("?")],
  ];
  const heading = (name: string) => ["heading", name] as const;
  const table = (name: string) => ["region", name] as const;
  const pages: Shown["pages"] = [
    ["/", table("Stuck runs")],
    ["/runs", heading("Runs")],
    ["/runs?tag=none", heading("No runs match these filters")],
    [`/runs/${run.run_id}`, heading("Timeline")],
    [`/runs/${run.run_id}?node=guard-0`, heading(HOSTILE)],
    [`/runs/${run.run_id}/compare/${again.run_id}`, heading("Compare two runs")],
    [`/runs/${talk}?node=agent-0`, heading("agent-0")],
    ["/runs/0197f0a0-0000-7000-8000-000000000000", heading("Run not found")],
    ["/inbox", heading("Inbox")],
    [`/inbox/${pause_id}`, heading(`Pay ${HOSTILE}?`)],
    ["/flows", table("Flows")],
    ["/flows?q=nothing+like+it", heading("No flows match these filters")],
    [`/flows/${flowId}/edit?node=guard-0`, heading("Node")],
    [`/flows/${flowId}`, table("Versions")],
    [`/flows/${flowId}/versions/1?node=guard-0`, heading("guard-0")],
    [`/flows/${flowId}/compare/1/draft?node=guard-0`, heading("Settings and examples")],
    [`/flows/${flowId}/call`, heading("OpenAPI")],
    [`/flows/${flowId}/chat`, heading(HOSTILE)],
    [`/flows/${flowId}/pages`, table("Pages")],
    [`/flows/${flowId}/environments`, table("Promotions")],
    [`/flows/${flowId}/triggers/${trigger.id}`, heading("Firings")],
    ["/flows/0197f0a0-0000-7000-8000-000000000000", heading("Flow not found")],
    ["/webhooks", heading("Webhooks")],
    ["/webhooks?failing=true", heading("Webhooks")],
    [`/webhooks/${hook.subscription_id}`, heading("Deliveries")],
    ["/access", table("Users")],
    ["/access?tab=keys", table("API keys")],
    ["/access?tab=sessions", table("Sessions")],
    ["/access?tab=members", table("Members")],
    ["/access?tab=audit", table("Audit log")],
    ["/settings", heading("Limits")],
    ["/connections", table("Connections")],
    ["/retention", table("Other retention times")],
    ["/usage", table("Usage by project")],
    ["/background", table("Knowledge bases")],
    [`/background/knowledge-bases/${base.knowledge_base_id}`, table("Documents")],
    [`/background/experiments/${experiment}`, table("Experiment rows")],
    ["/nothing", heading("Page not found")],
  ];
  return { pages, dialogs };
}

/** A run whose model received and wrote text that would be markup. */
async function talked(): Promise<string> {
  const stub = await startModelStub();
  stub.answer(() => ({ text: [HOSTILE, `**${HOSTILE}**`] }));
  const { body: connection } = await tenant.secret.post("/v2/connections", {
    name: HOSTILE,
    provider_id: "openai_compatible",
    scheme: "api_key",
    credential: { api_key: "sk-planted", base_url: `${stub.url}/v1` },
  });
  const config = { model: HOSTILE, connection_id: connection.connection_id, prompt: "{{in-0}}" };
  const project_id = await tenant.deploy(
    flow(
      [
        { id: "in-0", type: "input" },
        { id: "agent-0", type: "llm", config },
        { id: "out-0", type: "output" },
      ],
      ["in-0>agent-0", "agent-0>out-0"],
    ),
  );
  const { body } = await tenant.secret.post("/v2/runs", { project_id, inputs: { "in-0": HOSTILE }, mode: "sync" });
  await stub.close();
  return body.run_id;
}

/** A run that failed in an item of a map. */
async function failedInMap(): Promise<string> {
  const guard = { id: "guard-0", name: HOSTILE, type: "guard", config: { check: "false", message: HOSTILE } };
  const config = { items: "[1]", flow: nested([guard, { id: "o", type: "output" }], ["guard-0>o"]) };
  const nodes = [
    { id: "in-0", type: "input" },
    { id: "map-0", name: HOSTILE, type: "map", config },
    { id: "out-0", type: "output" },
  ];
  const project_id = await tenant.deploy(flow(nodes, ["in-0>map-0", "map-0>out-0"]));
  const { body } = await tenant.secret.post("/v2/runs", { project_id, inputs: { "in-0": HOSTILE }, mode: "sync" });
  return body.run_id;
}

/** An experiment whose only row fails. */
async function hostileExperiment(): Promise<string> {
  const evaluator_id = await makeEvaluator(tenant, { name: HOSTILE, type: "exact_match" });
  const dataset_id = await makeDataset(tenant);
  await tenant.secret.post(rowsPath(dataset_id), { external_id: HOSTILE, inputs: { "in-0": HOSTILE } });
  const project_id = await tenant.deploy(failing());
  const gates = [{ metric: "mean", evaluator_id, op: "gte", value: 1 }];
  const body = { name: HOSTILE, project_id, dataset_id, evaluator_ids: [evaluator_id], gates };
  const id = await makeExperiment(tenant, body);
  await doJob(tenant, id, { kind: "run" });
  return id;
}

/** Adds a stuck run. */
async function addStuck(): Promise<void> {
  const retry = { max_attempts: 100, initial_interval_ms: 2000, backoff: 1 };
  const nodes = [
    { id: "in-0", type: "input" },
    { id: "http-0", name: HOSTILE, type: "http", config: { method: "GET", url: "http://127.0.0.1:9/" }, retry },
    { id: "out-0", type: "output" },
  ];
  const definition = flow(nodes, ["in-0>http-0", "http-0>out-0"]);
  const { body } = await tenant.secret.post("/v2/projects", { name: HOSTILE, flow: definition });
  await tenant.secret.post("/v2/runs", { project_id: body.project_id, inputs: { "in-0": HOSTILE } });
}
