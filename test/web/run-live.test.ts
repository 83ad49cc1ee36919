import { describe, expect, it } from "vitest";
import { echo } from "../api/tenant.ts";
import { flow } from "../engine/support.ts";
import { startHttpTarget } from "../support/http-target.ts";
import { address, signedIn } from "./support/console.ts";
import { pausedRun } from "./support/pauses.ts";
import { browser, tenant, useConsole } from "./support/shared-console.ts";

useConsole();

describe("a run page", () => {
  it("updates live until it finishes, without a reload", async () => {
    const { run_id, pause_id } = await pausedRun(tenant, "Ada", "**Pay** *{{in-0}}*?\n\nNow.");
    const { page } = await signedIn(browser, tenant, "viewer", `/runs/${run_id}`);
    // The text without Markdown formatting.
    await page.getByText("Waiting for approval: Pay Ada? Now.").waitFor();
    await page.getByText("Live", { exact: true }).waitFor();
    await page.getByRole("group", { name: /approval-0, approval: Paused/ }).waitFor();
    await page.evaluate(() => Object.assign(globalThis, { sameDocument: true }));
    await tenant.secret.post(`/v2/runs/${run_id}/resume`, { pause_id, action: "approve", data: { amount: 3 } });
    await page.locator("dl").getByText("Completed").first().waitFor();
    await page.getByRole("group", { name: /out-0, output: Completed/ }).waitFor();
    expect(await page.evaluate(() => "sameDocument" in globalThis)).toBe(true);
    // Actions that a viewer may not take are not offered.
    for (const name of ["Rerun…", "Cancel…"]) expect(await page.getByRole("button", { name }).count()).toBe(0);
  });

  it("shows the error and the fix of a node that fails while it is open", async () => {
    const target = await startHttpTarget();
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    target.on("/held", (_, response) => {
      void held.then(() => response.writeHead(503).end());
    });
    const retry = { max_attempts: 2, initial_interval_ms: 600_000, backoff: 1 };
    const http = { id: "http-0", type: "http", config: { method: "GET", url: `${target.url}/held` }, retry };
    const nodes = [{ id: "in-0", type: "input" }, http, { id: "out-0", type: "output" }];
    const project_id = await tenant.deploy(flow(nodes, ["in-0>http-0", "http-0>out-0"]));
    const { body } = await tenant.secret.post("/v2/runs", { project_id, inputs: { "in-0": "x" } });
    const { page, context } = await signedIn(browser, tenant, "viewer", `/runs/${body.run_id}?node=http-0`);
    await page.locator("dl").getByText("Running").last().waitFor();
    await page.getByText("Live", { exact: true }).waitFor();
    release();
    const fault = page.locator(".notice").filter({ has: page.locator("strong", { hasText: "http_status" }) });
    await fault.waitFor();
    expect(await fault.innerText()).toContain("How to fix: The server failed");
    await tenant.secret.post(`/v2/runs/${body.run_id}/cancel`, {});
    await context.close();
    await target.close();
  });

  it("keeps the selected node in the URL after reload, back and a click", async () => {
    const id = await tenant.deploy(echo());
    const { body } = await tenant.secret.post("/v2/runs", { project_id: id, inputs: { "in-0": "Ada" }, mode: "sync" });
    const { page } = await signedIn(browser, tenant, "editor", `/runs?project_id=${id}`);
    await page.getByRole("link", { name: /test/ }).click();
    await page.getByRole("button", { name: /^in-0\b.*Completed/ }).click();
    await page.getByRole("heading", { name: "in-0" }).waitFor();
    expect(page.url()).toBe(address(tenant, `/runs/${body.run_id}?node=in-0`));
    await page.reload();
    await page.getByRole("group", { name: "Output of in-0" }).getByText("Ada").waitFor();
    await page.goBack();
    await page.waitForURL(address(tenant, `/runs/${body.run_id}`));
    await page.goBack();
    await page.waitForURL(address(tenant, `/runs?project_id=${id}`));
    await page.getByRole("link", { name: /test/ }).waitFor();
  });
});
