import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { openTenant } from "../api/tenant.ts";
import type { ApiTenant } from "../api/tenant.ts";
import { openBrowser } from "./support/browser.ts";
import { address, expectNoFaults, signedIn } from "./support/console.ts";

let browser: Browser;
let close: () => Promise<void>;
let tenant: ApiTenant;
beforeAll(async () => {
  [{ browser, close }, tenant] = await Promise.all([openBrowser(), openTenant()]);
}, 300_000);
afterEach(expectNoFaults);
afterAll(() => close());

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
});
