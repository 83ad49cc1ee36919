import { describe, expect, it } from "vitest";
import { uuidv7 } from "uuidv7";
import { asking, echo } from "../api/tenant.ts";
import { address, checkBothLooks, signedIn, text, violations, visit } from "./support/console.ts";
import { browser, tenant, useConsole } from "./support/shared-console.ts";

useConsole();

describe("the list of runs", () => {
  it("says that there are newer ones, and does not jump; by keyboard one goes from row to row", async () => {
    const id = await tenant.deploy(echo());
    const run = () => tenant.secret.post("/v2/runs", { project_id: id, inputs: { "in-0": "x" }, mode: "sync" });
    await run();
    await run();
    const { page, context } = await signedIn(browser, tenant, "viewer", `/runs?project_id=${id}`);
    const rows = page.locator("tbody tr");
    await rows.nth(1).waitFor();
    await run();
    await text(page, "1 newer run");
    expect(await rows.count()).toBe(2);
    await page.getByRole("button", { name: "Show", exact: true }).click();
    await rows.nth(2).waitFor();
    await expect
      .poll(() =>
        rows
          .nth(0)
          .locator("[data-row]")
          .evaluate((row) => row === row.ownerDocument.activeElement),
      )
      .toBe(true);
    await page.keyboard.press("j");
    const second = await rows.nth(1).locator("[data-row]").getAttribute("title");
    expect(await page.evaluate("document.activeElement?.getAttribute('title')")).toBe(second);
    await page.keyboard.press("Enter");
    await page.waitForURL(address(tenant, `/runs/${second}`));
    // Until its chunk is there, the list is still shown, and has a search of its own.
    await page.getByRole("heading", { name: "Timeline" }).waitFor();
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keys" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "hidden" });
    await page.keyboard.press("/");
    await page.getByRole("combobox", { name: "Page, project or run id" }).fill("settings");
    await page.keyboard.press("Enter");
    await page.waitForURL(address(tenant, "/settings"));
    await context.close();
  });
});

describe("the first page of the list", () => {
  it("is asked for once", async () => {
    const id = await tenant.deploy(echo());
    await tenant.secret.post("/v2/runs", { project_id: id, inputs: { "in-0": "x" }, mode: "sync" });
    const { page, context } = await signedIn(browser, tenant, "viewer", "/settings");
    await page.getByRole("heading", { name: "Settings", exact: true }).waitFor();
    const asked: string[] = [];
    const isList = (url: string): boolean => url.includes("/v2/runs?") && url.includes(id);
    page.on("request", (request) => {
      if (isList(request.url())) asked.push(request.url());
    });
    const first = page.waitForResponse((response) => isList(response.url()));
    await visit(page, `/runs?project_id=${id}`);
    await first;
    expect(asked).toHaveLength(1);
    await page.locator("tbody tr").first().waitFor();
    await visit(page, `/runs?project_id=${id}&created_before=2020-01-01T00:00:00.000Z`);
    await page.getByRole("heading", { name: "No run matches" }).waitFor();
    await context.close();
  });
});

describe("a row of the list", () => {
  /** Runs that have ended, newer than all before. */
  const addEnded = (project_id: string, count: number) =>
    tenant.withDatabase((database) =>
      database.org(tenant.org_id, (db) =>
        db.query(
          `insert into runs (run_id, org_id, project_id, flow_version, state, inputs, run_type, ran_by_type, start_input, timeout_seconds, finished_at)
             select id, $1, $2, 1, 'COMPLETED', '{}', 'api', 'org_api_key', '{}', 60, now() from unnest($3::uuid[]) id`,
          [tenant.org_id, project_id, Array.from({ length: count }, () => uuidv7())],
        ),
      ),
    );
  const paused = async (project_id: string): Promise<string> => {
    const { body } = await tenant.secret.post("/v2/runs", { project_id, inputs: {} });
    await tenant.until(body.run_id, "PAUSED");
    return body.run_id;
  };
  const cancel = (run_id: string) => tenant.secret.post(`/v2/runs/${run_id}/cancel`);

  it("changes with its run when the run leaves the filter", async () => {
    const id = await tenant.deploy(asking());
    const run_id = await paused(id);
    const { page, context } = await signedIn(browser, tenant, "viewer", `/runs?project_id=${id}&state=PAUSED`);
    const row = page.locator("tbody tr");
    await row.getByText("Paused").waitFor();
    await cancel(run_id);
    await row.getByText("Cancelled").waitFor();
    await context.close();
  });

  it("changes with its run on every page; newer runs are counted as far as that is known, and come when asked for", async () => {
    const id = await tenant.deploy(asking());
    const run_id = await paused(id);
    await addEnded(id, 55);
    const { page, context } = await signedIn(browser, tenant, "viewer", `/runs?project_id=${id}`);
    await page.getByRole("button", { name: "Older runs" }).click();
    const rows = page.locator("tbody tr");
    await expect.poll(() => rows.count()).toBe(56);
    await rows.last().getByText("Paused").waitFor();
    await addEnded(id, 60);
    await text(page, "50+ newer runs");
    // As when a tab is looked at again.
    await page.evaluate("dispatchEvent(new Event('visibilitychange')); dispatchEvent(new Event('focus'))");
    await cancel(run_id);
    await rows.last().getByText("Cancelled").waitFor();
    expect(await rows.count()).toBe(56);
    await page.getByRole("button", { name: "Show", exact: true }).click();
    await page.getByText("50+ newer runs").waitFor({ state: "hidden" });
    await context.close();
  });
});

describe("the columns", () => {
  it("are chosen by the reader, who finds them again", async () => {
    const id = await tenant.deploy(echo());
    await tenant.secret.post("/v2/runs", { project_id: id, inputs: { "in-0": "x" }, mode: "sync", user_id: "ada-7" });
    const { page, context } = await signedIn(browser, tenant, "viewer", `/runs?project_id=${id}`);
    const heads = () => page.locator("thead th").allInnerTexts();
    await page.getByText("Columns", { exact: true }).click();
    const menu = page.getByRole("group", { name: "Columns" });
    await menu.getByLabel("User").check();
    await menu.getByLabel("Version").uncheck();
    await page.getByRole("cell", { name: "ada-7" }).waitFor();
    expect(await violations(page)).toEqual([]);
    const chosen = ["State", "Run", "What", "Created", "Took", "Started by", "User", "Nodes"];
    expect(await heads()).toEqual(chosen);
    await page.keyboard.press("Escape");
    await menu.waitFor({ state: "hidden" });
    await page.reload();
    await page.getByRole("cell", { name: "ada-7" }).waitFor();
    expect(await heads()).toEqual(chosen);
    await page.getByText("Columns", { exact: true }).click();
    await page.getByRole("button", { name: "As at first" }).click();
    expect(await heads()).toContain("Version");
    await context.close();
  });
});

describe("bulk actions", () => {
  it("say first how many runs they are about, show how far they are, and leave other runs alone", async () => {
    const id = await tenant.deploy(echo());
    const run = () => tenant.secret.post("/v2/runs", { project_id: id, inputs: { "in-0": "x" }, mode: "sync" });
    for (let n = 0; n < 3; n += 1) await run();
    const { page, context } = await signedIn(browser, tenant, "editor", `/runs?project_id=${id}`);
    await page.getByText("All that match…").click();
    await page.getByRole("button", { name: "Run all again… 3" }).waitFor();
    await page.getByRole("button", { name: "Cancel all… 0" }).waitFor();
    expect(await page.getByRole("button", { name: "Cancel all… 0" }).isDisabled()).toBe(true);
    await page.getByRole("button", { name: "Run all again…" }).click();
    await text(page, /^3 runs ended/);
    expect((await tenant.secret.get("/v2/runs", { query: { project_id: id } })).body.data).toHaveLength(3);
    await page.getByRole("button", { name: "Run again 3 runs" }).click();
    await text(page, "Running again: done");
    await text(page, "3 of 3 done");
    const { body } = await tenant.secret.get("/v2/runs", { query: { project_id: id } });
    expect(body.data).toHaveLength(6);
    // The job is in the address: a reload shows it again.
    await page.reload();
    await text(page, "3 of 3 done");
    expect(await violations(page)).toEqual([]);
    await page.getByRole("button", { name: "Hide" }).click();
    await page.waitForURL(address(tenant, `/runs?project_id=${id}`));
    await context.close();
  });

  it("say where more runs match than one of them takes", async () => {
    const { page, context } = await signedIn(browser, tenant, "editor", "/runs");
    // What the service answers then: so many runs would be made for too long.
    const msg = "More than 100000 runs match: divide them, such as by created_before";
    const json = { detail: [{ loc: ["body", "filter"], msg, type: "value_error" }], code: "validation_error" };
    await page.route(/run-jobs$/, (route) => route.fulfill({ status: 422, json }));
    await page.getByText("All that match…").click();
    await page.getByRole("button", { name: "Run all again… too many" }).click();
    await text(page, /^More than 100000 runs match: divide them/);
    expect(await page.getByRole("button", { name: "Run again all runs" }).isDisabled()).toBe(true);
    await checkBothLooks(page);
    await context.close();
  });

  it("are aborted where that is asked for", async () => {
    const id = await tenant.deploy({ ...asking(), settings: { max_concurrent_runs: 1 } });
    const { body: first } = await tenant.secret.post("/v2/runs", { project_id: id, inputs: {} });
    await tenant.until(first.run_id, "PAUSED");
    await tenant.secret.post(`/v2/runs/${first.run_id}/cancel`);
    await tenant.until(first.run_id, "CANCELLED");
    // It takes the only place: the job waits.
    await tenant.secret.post("/v2/runs", { project_id: id, inputs: {} });
    const { page, context } = await signedIn(browser, tenant, "editor", `/runs?project_id=${id}&state=CANCELLED`);
    await page.getByText("All that match…").click();
    await page.getByRole("button", { name: "Run all again…" }).click();
    await page.getByRole("button", { name: "Run again 1 run" }).click();
    await page.getByRole("button", { name: "Abort" }).click();
    await text(page, "Running again: aborted");
    await text(page, "0 of 1 done");
    await context.close();
  });

  it("are not offered to a viewer", async () => {
    const { page, context } = await signedIn(browser, tenant, "viewer", "/runs");
    await page.getByRole("heading", { name: "Runs", exact: true }).waitFor();
    expect(await page.getByText("All that match…").count()).toBe(0);
    await context.close();
  });
});
