import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { echo, slow } from "../api/tenant.ts";
import { address, openStreams, openWindow, signedIn, text } from "./support/console.ts";
import { browser, tenant, useConsole } from "./support/shared-console.ts";

useConsole();

/** Forwards the first POST to a URL, and drops its response. */
async function loseFirstAnswer(page: Page, url: string | RegExp): Promise<void> {
  let isFirst = true;
  await page.route(url, async (route) => {
    const request = route.request();
    const isDry = request.postData()?.includes('"dry_run":true') === true;
    if (request.method() !== "POST" || isDry || !isFirst) return route.continue();
    isFirst = false;
    await route.fetch();
    await route.abort();
  });
}

async function endedRun(): Promise<{ readonly run_id: string; readonly project_id: string }> {
  const project_id = await tenant.deploy(echo());
  const { body } = await tenant.secret.post("/v2/runs", { project_id, inputs: { "in-0": "first" }, mode: "sync" });
  return { run_id: body.run_id, project_id };
}
const runsOf = async (project_id: string): Promise<Array<{ run_id: string; inputs: unknown }>> =>
  (await tenant.secret.get("/v2/runs", { query: { project_id } })).body.data;

describe("a form that is corrected after a rejection or a lost response", () => {
  const cannotReach = "Cannot reach the server.";

  it.each([
    ["Rerun…", "Rerun", /\/v2\/runs$/],
    ["Resume from…", "Resume", /\/resume$/],
  ])(
    "starts another run from %s if it is edited, and no second run if it is sent again unchanged",
    async (open, send, url) => {
      const { run_id, project_id } = await endedRun();
      const { page } = await signedIn(browser, tenant, "editor", `/runs/${run_id}`);
      const dialog = page.getByRole("dialog");
      const submit = dialog.getByRole("button", { name: send, exact: true });
      await loseFirstAnswer(page, url);
      await page.getByRole("button", { name: open }).click();
      await dialog.getByLabel("in-0").fill("second");
      await submit.click();
      await dialog.getByText(cannotReach).waitFor();
      await dialog.getByLabel("in-0").fill("third");
      await submit.click();
      await dialog.waitFor({ state: "detached" });
      // The first run, the one whose response was lost, and the corrected one.
      expect(await runsOf(project_id)).toHaveLength(3);
      await loseFirstAnswer(page, url);
      await page.getByRole("button", { name: open }).click();
      await dialog.getByLabel("in-0").fill("fourth");
      await submit.click();
      await dialog.getByText(cannotReach).waitFor();
      await submit.click();
      await dialog.waitFor({ state: "detached" });
      expect(await runsOf(project_id)).toHaveLength(4);
    },
  );

  it("sends a new bulk request for all matching runs if an option is changed", async () => {
    const { project_id } = await endedRun();
    const { page } = await signedIn(browser, tenant, "editor", `/runs?project_id=${project_id}`);
    const dialog = page.getByRole("dialog");
    const submit = dialog.getByRole("button", { name: /^Rerun \d/ });
    await loseFirstAnswer(page, /\/v2\/run-jobs$/);
    await page.getByText("All matching runs").click();
    await page.getByRole("button", { name: /^Rerun… \d/ }).click();
    await submit.click();
    await dialog.getByText(cannotReach).waitFor();
    await dialog.getByLabel("The currently published version").check();
    await submit.click();
    await dialog.waitFor({ state: "detached" });
  });

  it("creates one dataset, and one row with the corrected values", async () => {
    const { run_id } = await endedRun();
    const { page } = await signedIn(browser, tenant, "editor", `/runs/${run_id}`);
    await page.getByRole("button", { name: "Add to dataset…" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Dataset", { exact: true }).selectOption("new");
    await dialog.getByLabel("New dataset name").fill("corrected");
    await dialog.getByLabel("Expected outputs").fill('{"not a node": 1}');
    await dialog.getByRole("button", { name: "Add row" }).click();
    await dialog.getByText("validation_error").waitFor();
    await dialog.getByLabel("Expected outputs").fill('{"out-0": "right"}');
    await dialog.getByRole("button", { name: "Add row" }).click();
    await page.getByRole("dialog", { name: "Row added" }).waitFor();
    const { data } = (await tenant.secret.get("/v2/evals/datasets")).body;
    const made = data.filter(({ name }: { name: string }) => name === "corrected");
    expect(made.map(({ row_count }: { row_count: number }) => row_count)).toEqual([1]);
    const rows = (await tenant.secret.get(`/v2/evals/datasets/${made[0].dataset_id}/rows`)).body.data;
    expect(rows.map(({ source }: { source: object }) => source)).toEqual([{ type: "run", run_id }]);
  });
});

describe("a console session", () => {
  it("ends only after the server has ended it", async () => {
    const { page } = await signedIn(browser, tenant, "viewer", "/runs");
    await page.route("**/console/session", (route) =>
      route.fulfill({ status: 503, json: { code: "service_unavailable" } }),
    );
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("alert").getByText("You are still signed in").waitFor();
    await page.getByRole("navigation", { name: "Pages" }).waitFor();
    await page.unroute("**/console/session");
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Password").waitFor();
    await page.reload();
    await page.getByLabel("Password").waitFor();
  });

  it("that has ended shows the sign-in page after a write too", async () => {
    const project_id = await tenant.deploy(slow(600));
    const { body: run } = await tenant.secret.post("/v2/runs", { project_id, inputs: {} });
    const { page } = await signedIn(browser, tenant, "editor", `/runs/${run.run_id}`);
    await page.getByRole("button", { name: "Cancel…" }).click();
    await page.route("**/cancel", (route) => route.fulfill({ status: 401, json: { code: "unauthorized" } }));
    await page.getByRole("dialog").getByRole("button", { name: "Cancel run" }).click();
    await page.getByLabel("Password").waitFor();
    await tenant.secret.post(`/v2/runs/${run.run_id}/cancel`, {});
  });
});

it("live events resume after the server has rejected them", async () => {
  const project_id = await tenant.deploy(slow(600));
  const { body: run } = await tenant.secret.post("/v2/runs", { project_id, inputs: {} });
  const { page } = await signedIn(browser, tenant, "viewer", "/runs");
  let refusals = 0;
  await page.route(`**/v2/runs/${run.run_id}`, (route) =>
    route.request().resourceType() === "eventsource" && refusals++ < 2
      ? route.fulfill({ status: 503, json: { code: "service_unavailable" } })
      : route.continue(),
  );
  const open = openStreams(page);
  await page.goto(address(tenant, `/runs/${run.run_id}`));
  await text(page, "Refreshing every 2 s");
  await expect.poll(() => [refusals > 2, open.length], { timeout: 20_000 }).toEqual([true, 1]);
  await page.getByText("Refreshing every 2 s").waitFor({ state: "detached" });
  await tenant.secret.post(`/v2/runs/${run.run_id}/cancel`, {});
  await page.locator("dl").getByText("Cancelled").first().waitFor();
});

it("the console works in a browser that blocks storage", async () => {
  const { page } = await openWindow(browser);
  await page.addInitScript(`Object.defineProperty(window, "localStorage", {
    get() { throw new DOMException("The operation is insecure.", "SecurityError"); } })`);
  await page.goto(address(tenant, "/"));
  await page.getByLabel("Password").waitFor();
  await page.goto(`${tenant.target.url}/docs#createRun`);
  await page.getByRole("heading", { name: "Run a flow", level: 1 }).waitFor();
  await page.getByRole("button", { name: "Python", exact: true }).click();
});
