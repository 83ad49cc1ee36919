import type { Browser, Locator } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { openTenant } from "../api/tenant.ts";
import type { ApiTenant } from "../api/tenant.ts";
import { openBrowser } from "./support/browser.ts";
import { expectNoFaults, signedIn, text } from "./support/console.ts";
import { pausedRun } from "./support/pauses.ts";

let browser: Browser;
let close: () => Promise<void>;
let tenant: ApiTenant;
beforeAll(async () => {
  [{ browser, close }, tenant] = await Promise.all([openBrowser(), openTenant()]);
}, 300_000);
afterEach(expectNoFaults);
afterAll(() => close());

/** What the form says at a field. */
const describedBy = async (field: Locator): Promise<string | null> => {
  const id = await field.getAttribute("aria-describedby");
  return id === null ? null : field.page().locator(`[id="${id}"]`).innerText();
};

describe("the inbox", () => {
  it("keeps a pause open where its form is wrong, says so at the field, and takes it where it is right", async () => {
    const { run_id, pause_id } = await pausedRun(tenant);
    const { page, context } = await signedIn(browser, tenant, "editor", `/inbox/${pause_id}`);
    const amount = page.getByLabel("Amount");
    await page.getByRole("button", { name: "Approve" }).click();
    await expect.poll(() => describedBy(amount)).toBe("must be given");
    await amount.fill("1000");
    await page.getByRole("button", { name: "Approve" }).click();
    await expect.poll(() => describedBy(amount)).toBe("must be <= 100");
    expect(await amount.getAttribute("aria-invalid")).toBe("true");
    expect((await tenant.secret.get(`/v2/runs/${run_id}`)).body.state).toBe("PAUSED");
    await page.getByLabel("Amount").fill("10");
    await page.getByRole("button", { name: "Approve" }).click();
    await text(page, /by you/);
    const run = await tenant.until(run_id, "COMPLETED");
    expect(run.outputs["out-0"]).toContain('"amount":10');
    await context.close();
  });

  it("tells the second of two people who decided, and takes the form away", async () => {
    const { pause_id } = await pausedRun(tenant);
    const [one, other] = await Promise.all([
      signedIn(browser, tenant, "editor", `/inbox/${pause_id}`),
      signedIn(browser, tenant, "admin", `/inbox/${pause_id}`),
    ]);
    await other.page.getByLabel("Amount").fill("5");
    await one.page.getByRole("button", { name: "Reject" }).click();
    await text(one.page, /by you/);
    await text(other.page, new RegExp(`by ${one.email}`));
    expect(await other.page.getByRole("button", { name: "Approve" }).count()).toBe(0);
    await Promise.all([one.context.close(), other.context.close()]);
  });

  it("shows a viewer what is asked, and no way to decide", async () => {
    const { pause_id } = await pausedRun(tenant, "**Grace** <i>");
    const { page, context } = await signedIn(browser, tenant, "viewer", `/inbox/${pause_id}`);
    // The list has the words alone.
    await expect.poll(() => page.locator(".inbox-message").allInnerTexts()).toContain("Pay Grace <i>?");
    await page.getByRole("heading", { name: "Pay Grace <i>?" }).waitFor();
    await text(page, "may read this and not decide it");
    expect(await page.getByRole("button", { name: "Approve" }).count()).toBe(0);
    expect(await page.getByRole("link", { name: "Webhooks" }).count()).toBe(0);
    await context.close();
  });
});
