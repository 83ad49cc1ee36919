import { describe, expect, it } from "vitest";
import { uuidv7 } from "uuidv7";
import { asking, echo } from "../api/tenant.ts";
import { address, checkBothLooks, signedIn, text, violations, visit } from "./support/console.ts";
import { browser, tenant, useConsole } from "./support/shared-console.ts";

useConsole();

describe("the list of runs", () => {
  it("announces newer runs without jumping, and moves from row to row by keyboard", async () => {
    const id = await tenant.deploy(echo());
    const run = () => tenant.secret.post("/v2/runs", { project_id: id, inputs: { "in-0": "x" }, mode: "sync" });
    await run();
    await run();
    const { page } = await signedIn(browser, tenant, "viewer", `/runs?project_id=${id}`);
    const rows = page.locator("tbody tr");
    await rows.nth(1).waitFor();
    await run();
    await text(page, "1 new run");
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
    // Until the page's chunk has loaded, the list is still shown, and it has a search field, too.
    await page.getByRole("heading", { name: "Timeline" }).waitFor();
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "hidden" });
    await page.keyboard.press("/");
    await page.getByRole("combobox", { name: "Page, project or run ID" }).fill("settings");
    await page.keyboard.press("Enter");
    await page.waitForURL(address(tenant, "/settings"));
  });
});

describe("the first page of the list", () => {
  it("is requested only once", async () => {
    const id = await tenant.deploy(echo());
    await tenant.secret.post("/v2/runs", { project_id: id, inputs: { "in-0": "x" }, mode: "sync" });
    const { page } = await signedIn(browser, tenant, "viewer", "/settings");
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
    await page.getByRole("heading", { name: "No runs match these filters" }).waitFor();
  });
});

describe("a row of the list", () => {
  /** Inserts finished runs that are newer than all others. */
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

  it("is updated when its run leaves the filter", async () => {
    const id = await tenant.deploy(asking());
    const run_id = await paused(id);
    const { page } = await signedIn(browser, tenant, "viewer", `/runs?project_id=${id}&state=PAUSED`);
    const row = page.locator("tbody tr");
    await row.getByText("Paused").waitFor();
    await cancel(run_id);
    await row.getByText("Cancelled").waitFor();
  });

  it("is updated on every page; newer runs are counted and shown on request", async () => {
    const id = await tenant.deploy(asking());
    const run_id = await paused(id);
    await addEnded(id, 55);
    const { page } = await signedIn(browser, tenant, "viewer", `/runs?project_id=${id}`);
    await page.getByRole("button", { name: "Load older runs" }).click();
    const rows = page.locator("tbody tr");
    await expect.poll(() => rows.count()).toBe(56);
    await rows.last().getByText("Paused").waitFor();
    await addEnded(id, 60);
    await text(page, "50+ new runs");
    // As when a user returns to the tab.
    await page.evaluate("dispatchEvent(new Event('visibilitychange')); dispatchEvent(new Event('focus'))");
    await cancel(run_id);
    await rows.last().getByText("Cancelled").waitFor();
    expect(await rows.count()).toBe(56);
    await page.getByRole("button", { name: "Show", exact: true }).click();
    await page.getByText("50+ new runs").waitFor({ state: "hidden" });
  });

  it("is drawn if it is near the window, listed oldest first on request, and selected for a bulk action", async () => {
    const id = await tenant.deploy(echo());
    await addEnded(id, 160);
    const { page } = await signedIn(browser, tenant, "editor", `/runs?project_id=${id}`);
    const rows = page.locator("tbody tr[aria-rowindex]");
    const older = page.getByRole("button", { name: "Load older runs" });
    for (const count of [100, 150, 160]) {
      await older.click();
      await expect
        .poll(() => page.getByRole("checkbox", { name: `Select ${count > 100 ? "the first" : "all"} 100` }).count())
        .toBe(1);
      if (count > 100) await page.locator(`table[aria-rowcount="${count + 1}"]`).waitFor();
    }
    expect(await rows.count()).toBeLessThan(160);
    await page.locator(".table-gap").first().waitFor({ state: "attached" });
    // From the last drawn row, the keys go on to the next one.
    await page.evaluate("scrollTo(0, document.body.scrollHeight)");
    await page.locator('tr[aria-rowindex="161"]').waitFor();
    const last = page.locator('tr[aria-rowindex="161"] [data-row]');
    await page.locator('tr[aria-rowindex="160"] [data-row]').focus();
    await page.keyboard.press("j");
    expect(await last.evaluate((link) => link === link.ownerDocument.activeElement)).toBe(true);
    const oldest = await last.getAttribute("title");

    await page.getByRole("button", { name: "Created" }).click();
    await page.waitForURL(address(tenant, `/runs?project_id=${id}&order=asc`));
    await page.locator(`tbody tr:first-child [title="${oldest}"]`).waitFor();
    await page.getByRole("columnheader", { name: "Created" }).and(page.locator('[aria-sort="ascending"]')).waitFor();
    for (const at of [0, 1]) await page.locator("tbody").getByRole("checkbox").nth(at).check();
    await page.getByText("2 selected runs").click();
    await page.getByRole("button", { name: "Rerun… 2" }).click();
    await text(page, /^2 finished runs selected/);
    await checkBothLooks(page);
  });
});

describe("the columns", () => {
  it("can be chosen, and the choice is kept", async () => {
    const id = await tenant.deploy(echo());
    await tenant.secret.post("/v2/runs", { project_id: id, inputs: { "in-0": "x" }, mode: "sync", user_id: "ada-7" });
    const { page } = await signedIn(browser, tenant, "viewer", `/runs?project_id=${id}`);
    const heads = () => page.locator("thead th").allInnerTexts();
    await page.getByText("Columns", { exact: true }).click();
    const menu = page.getByRole("group", { name: "Columns" });
    await menu.getByLabel("User").check();
    await menu.getByLabel("Version").uncheck();
    await page.getByRole("cell", { name: "ada-7" }).waitFor();
    expect(await violations(page)).toEqual([]);
    const chosen = ["State", "Run", "Details", "Created", "Duration", "Run type", "User", "Nodes"];
    expect(await heads()).toEqual(chosen);
    await page.keyboard.press("Escape");
    await menu.waitFor({ state: "hidden" });
    await page.reload();
    await page.getByRole("cell", { name: "ada-7" }).waitFor();
    expect(await heads()).toEqual(chosen);
    await page.getByText("Columns", { exact: true }).click();
    await page.getByRole("button", { name: "Reset columns" }).click();
    expect(await heads()).toContain("Version");
  });
});

describe("bulk actions", () => {
  it("show how many runs they affect and their progress, and leave other runs unchanged", async () => {
    const id = await tenant.deploy(echo());
    const run = () => tenant.secret.post("/v2/runs", { project_id: id, inputs: { "in-0": "x" }, mode: "sync" });
    for (let n = 0; n < 3; n += 1) await run();
    const { page } = await signedIn(browser, tenant, "editor", `/runs?project_id=${id}`);
    await page.getByText("All matching runs").click();
    await page.getByRole("button", { name: "Rerun… 3" }).waitFor();
    await page.getByRole("button", { name: "Cancel… 0" }).waitFor();
    expect(await page.getByRole("button", { name: "Cancel… 0" }).isDisabled()).toBe(true);
    await page.getByRole("button", { name: "Rerun…" }).click();
    await text(page, /^3 finished runs match/);
    expect((await tenant.secret.get("/v2/runs", { query: { project_id: id } })).body.data).toHaveLength(3);
    await page.getByRole("button", { name: "Rerun 3 runs" }).click();
    await text(page, "Rerunning runs: completed");
    await text(page, "3 of 3 done");
    const { body } = await tenant.secret.get("/v2/runs", { query: { project_id: id } });
    expect(body.data).toHaveLength(6);
    // The URL holds the job, so a reload shows it again.
    await page.reload();
    await text(page, "3 of 3 done");
    expect(await violations(page)).toEqual([]);
    await page.getByRole("button", { name: "Hide" }).click();
    await page.waitForURL(address(tenant, `/runs?project_id=${id}`));
  });

  it("are disabled if more runs match than the limit", async () => {
    const { page } = await signedIn(browser, tenant, "editor", "/runs");
    // The response of the API in that case; creating that many runs would take too long.
    const msg = "More than 100000 runs match: narrow the filter, for example with created_before";
    const json = { detail: [{ loc: ["body", "filter"], msg, type: "value_error" }], code: "validation_error" };
    await page.route(/run-jobs$/, (route) => route.fulfill({ status: 422, json }));
    await page.getByText("All matching runs").click();
    await page.getByRole("button", { name: "Rerun… too many" }).click();
    await text(page, /^More than 100000 runs match: narrow the filter/);
    expect(await page.getByRole("button", { name: "Rerun all runs" }).isDisabled()).toBe(true);
    await checkBothLooks(page);
  });

  it("can be aborted", async () => {
    const id = await tenant.deploy({ ...asking(), settings: { max_concurrent_runs: 1 } });
    const { body: first } = await tenant.secret.post("/v2/runs", { project_id: id, inputs: {} });
    await tenant.until(first.run_id, "PAUSED");
    await tenant.secret.post(`/v2/runs/${first.run_id}/cancel`);
    await tenant.until(first.run_id, "CANCELLED");
    // This run takes the only slot, so the job waits.
    await tenant.secret.post("/v2/runs", { project_id: id, inputs: {} });
    const { page } = await signedIn(browser, tenant, "editor", `/runs?project_id=${id}&state=CANCELLED`);
    await page.getByText("All matching runs").click();
    await page.getByRole("button", { name: "Rerun…" }).click();
    await page.getByRole("button", { name: "Rerun 1 run" }).click();
    await page.getByRole("button", { name: "Stop job" }).click();
    await text(page, "Rerunning runs: stopped");
    await text(page, "0 of 1 done");
  });

  it("are not offered to a viewer", async () => {
    const { page } = await signedIn(browser, tenant, "viewer", "/runs");
    await page.getByRole("heading", { name: "Runs", exact: true }).waitFor();
    expect(await page.getByText("All matching runs").count()).toBe(0);
  });
});
