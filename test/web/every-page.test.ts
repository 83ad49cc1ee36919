import { readFileSync, readdirSync } from "node:fs";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startModelStub, type ModelStub } from "../../src/dev/model-stub.ts";
import { doJob, makeDataset, makeEvaluator, makeExperiment, rowsPath } from "../api/evals/evals.ts";
import { failing } from "../api/tenant.ts";
import { flow, nested } from "../engine/support.ts";
import { LONG } from "../support/long.ts";
import { checkBothLooks, checkOneLook, signedIn, text, visit } from "./support/console.ts";
import { pausedRun } from "./support/pauses.ts";
import { browser, tenant, useConsole } from "./support/shared-console.ts";

/** A name that would run a script if it were treated as markup. */
const HOSTILE = "<img src=x onerror=alert(1)>";

/** Parts of e-mail addresses that are broken over several lines. */
const BROKEN_WORDS = `[...document.querySelectorAll(".email")].flatMap((address) => [...address.childNodes])
  .filter((part) => part.nodeType === Node.TEXT_NODE)
  .flatMap((part) => {
    const range = document.createRange();
    range.selectNodeContents(part);
    return range.getClientRects().length > 1 ? [part.textContent] : [];
  })`;

useConsole();
let stub: ModelStub;
beforeAll(async () => {
  stub = await startModelStub();
});
afterAll(() => stub.close());

/** `npm test` looks at a page once: in turns dark and narrow, and light and wide. */
async function expectHarmless(page: Page, what: string, turn: number): Promise<void> {
  await (LONG ? checkBothLooks(page, what) : checkOneLook(page, what, turn));
  expect(await page.locator("img").count(), what).toBe(0);
}

describe("every page", () => {
  let dialogs: ReadonlyArray<readonly [path: string, open: (page: Page) => Promise<unknown>]>;
  let pages: ReadonlyArray<readonly [path: string, ready: readonly ["heading" | "region", string]]>;
  beforeAll(async () => {
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
    dialogs = [
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
    pages = [
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
  });

  it("is in the list of pages under test", () => {
    const folder = new URL("../../web/pages/", import.meta.url);
    const lists = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) =>
      /^\w+\/index\.ts$/.test(name),
    );
    const table = lists.map((name) => readFileSync(new URL(name, folder), "utf8")).join("");
    const routes = [...table.matchAll(/ page\(\s*"([^"]+)"/g)].map(([, path]) => path ?? "");
    expect(routes).toContain("/runs/:runId");
    const seen = pages.map(([path]) => path.replace(/\?.*/, ""));
    const isSeen = (route: string): boolean => {
      const matches = new RegExp(`^${route.replaceAll(/\/:\w+\?/g, "(/[^/]+)?").replaceAll(/:\w+/g, "[^/]+")}$`);
      return seen.some((path) => matches.test(path));
    };
    expect(routes.filter((route) => !isSeen(route))).toEqual([]);
    // The router has no other routes.
    const router = readFileSync(new URL("../../web/shell/routing.tsx", import.meta.url), "utf8");
    expect(router.match(/path=[^ ]+/g)).toEqual(["path={page.path}", 'path="*"']);
  });

  it("console-xss: runs no injected script and has no axe violation, light and wide, dark and narrow", async () => {
    const { page } = await signedIn(browser, tenant, "admin");
    for (const [turn, [path, [role, name]]] of pages.entries()) {
      await visit(page, path);
      await page.getByRole(role, { name, exact: true }).first().waitFor();
      await expect.poll(() => page.locator(".skeleton").count()).toBe(0);
      await expectHarmless(page, path, turn);
      // In a narrow window, the navigation is behind a button.
      await page.setViewportSize({ width: 1280, height: 800 });
      const marked = page.getByRole("navigation", { name: "Pages" }).locator('[aria-current="page"]');
      const places = await Promise.all((await marked.all()).map((link) => link.getAttribute("href")));
      expect(places, path).toEqual(placeOf(path));
    }
  }, 400_000);

  it("opens the navigation on a phone below one line, and closes it with Escape, outside and on another page", async () => {
    const { page } = await signedIn(browser, tenant, "admin", "/retention", { width: 360 });
    const nav = page.getByRole("navigation", { name: "Pages" });
    const menu = page.getByRole("button", { name: "Menu" });
    const { height = 0 } = (await page.locator("header").boundingBox()) ?? {};
    expect(height).toBeLessThan(60);
    expect(await nav.isVisible()).toBe(false);
    await menu.click();
    expect(await nav.locator('[aria-current="page"]').allInnerTexts()).toEqual(["Retention"]);
    await checkBothLooks(page, "open menu");
    await page.setViewportSize({ width: 360, height: 800 });
    await page.keyboard.press("Escape");
    await nav.waitFor({ state: "hidden" });
    expect(await menu.evaluate((button) => button === button.ownerDocument.activeElement)).toBe(true);
    await menu.click();
    await page.mouse.click(180, 790);
    await nav.waitFor({ state: "hidden" });
    await menu.click();
    await nav.getByRole("link", { name: "Access" }).click();
    await page.getByRole("region", { name: "Users", exact: true }).waitFor();
    expect(await nav.isVisible()).toBe(false);
    expect(await page.title()).toBe("Access · Millrace");
    await page.locator(".email").first().waitFor();
    expect(await page.evaluate(BROKEN_WORDS)).toEqual([]);
    // The current tab is scrolled into view after it has been drawn.
    await visit(page, "/access?tab=audit");
    const tab = page.locator('.tabs [aria-current="page"]', { hasText: "Audit log" });
    const right = async (): Promise<number> => {
      const { x = 0, width = 400 } = (await tab.boundingBox()) ?? {};
      return x + width;
    };
    await expect.poll(right).toBeLessThanOrEqual(360);
  });

  it("console-xss: runs no injected script and has no axe violation in its dialogs", async () => {
    const { page } = await signedIn(browser, tenant, "admin");
    for (const [at, [path, open]] of dialogs.entries()) {
      await visit(page, "/nothing");
      await page.getByRole("heading", { name: "Page not found" }).waitFor();
      await visit(page, path);
      await page.getByRole("heading", { name: "Page not found" }).waitFor({ state: "detached" });
      await page.getByRole("heading", { level: 1 }).waitFor();
      await expect.poll(() => page.locator(".skeleton").count()).toBe(0);
      await open(page);
      await page.getByRole("dialog").waitFor();
      await expect.poll(() => page.locator(".skeleton").count()).toBe(0);
      await expectHarmless(page, `dialog ${at} of ${path}`, at);
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
    }
  }, 400_000);
});

/** The entries that the navigation marks as current. */
function placeOf(path: string): string[] {
  const [, first = ""] = /^\/(\w*)/.exec(path) ?? [];
  return first === "nothing" ? [] : [`/console${first && `/${first}`}`];
}

/** A run whose model received and wrote text that would be markup. */
async function talked(): Promise<string> {
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
