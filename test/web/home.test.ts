import { describe, expect, it } from "vitest";
import { openTenant, slow } from "../api/tenant.ts";
import { address, signedIn, text } from "./support/console.ts";
import { browser, tenant, useConsole } from "./support/shared-console.ts";

useConsole();

describe("home", () => {
  it("shows an admin what waits for workers, with the way to it", async () => {
    const { page, context } = await signedIn(browser, tenant, "admin");
    const queues = page.getByRole("region", { name: "Queues", exact: true });
    await queues.waitFor();
    expect(await queues.locator("tbody tr").count()).toBe(5);
    await expect.poll(() => queues.getByText("None").count(), { timeout: 30_000 }).toBe(0);
    await page.getByRole("link", { name: /^Wait for a worker/ }).waitFor();
    await queues.getByRole("link", { name: "Runs", exact: true }).click();
    await page.waitForURL(address(tenant, "/runs?state=PENDING&state=RUNNING&state=RESUMED"));
    await context.close();
  });

  it("shows an editor no queue: all organisations share them", async () => {
    const { page, context } = await signedIn(browser, tenant, "editor");
    await page.getByRole("heading", { name: "Runs created" }).waitFor();
    await page.getByRole("heading", { name: "Stuck", exact: true }).waitFor();
    expect(await page.getByRole("heading", { name: "Queues and workers" }).count()).toBe(0);
    expect(await page.getByRole("link", { name: /^Wait for a worker/ }).count()).toBe(0);
    await context.close();
  });

  it("sums the cost of models over the time that is chosen, and says how high its bars are", async () => {
    const { page, context } = await signedIn(browser, tenant, "viewer");
    await page.getByRole("heading", { name: "Models, last 24 hours" }).waitFor();
    await page.getByRole("figure").getByText("Runs, up to 1").waitFor();
    const asked = page.waitForRequest((request) => request.url().includes("/v2/usage?"));
    await page.getByRole("combobox", { name: "How far back" }).selectOption("168");
    const from = new URL((await asked).url()).searchParams.get("from") ?? "";
    await page.getByRole("heading", { name: "Models, last 7 days" }).waitFor();
    const hours = (Date.now() - Date.parse(from)) / 3_600_000;
    expect(hours).toBeGreaterThanOrEqual(168);
    expect(hours).toBeLessThan(169);
    await context.close();
  });

  it("says what has come to the list of what is stuck while it is looked at, and what has gone", async () => {
    const own = await openTenant();
    const { body } = await own.secret.post("/v2/runs", { project_id: await own.deploy(slow(3600)), inputs: {} });
    const state = async () =>
      (await own.secret.get(`/v2/runs/${body.run_id}`, { query: { expand: "nodes" } })).body.nodes;
    await expect.poll(state).toContainEqual(expect.objectContaining({ path: "delay-0", state: "RUNNING" }));
    /** A node that has been tried for a day makes its run stuck. */
    const mark = (to: "RETRYING" | "RUNNING") =>
      own.withDatabase((database) =>
        database.system((db) =>
          db.query(
            "update node_runs set state = $2, started_at = now() - interval '1 day' where run_id = $1::uuid and path = 'delay-0'",
            [body.run_id, to],
          ),
        ),
      );
    const { page, context } = await signedIn(browser, own, "viewer");
    await text(page, "Nothing is stuck");
    await mark("RETRYING");
    await text(page, "Just now: 1 more.");
    await page.getByRole("table", { name: "Stuck runs" }).waitFor();
    await mark("RUNNING");
    await text(page, "Just now: 1 gone.");
    await own.secret.post(`/v2/runs/${body.run_id}/cancel`, {});
    await context.close();
  });
});
