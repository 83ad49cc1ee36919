import type { Locator } from "playwright-core";
import { describe, expect, it } from "vitest";
import { uuidv7 } from "uuidv7";
import { openTenant } from "../api/tenant.ts";
import { address, openWindow, signedIn, text } from "./support/console.ts";
import { pausedRun } from "./support/pauses.ts";
import { browser, tenant, useConsole } from "./support/shared-console.ts";

useConsole();

/** The message at a form field. */
const describedBy = async (field: Locator): Promise<string | null> => {
  const id = await field.getAttribute("aria-describedby");
  return id === null ? null : field.page().locator(`[id="${id}"]`).innerText();
};

describe("the inbox", () => {
  it("shows form errors at the field and keeps the approval open until the form is valid", async () => {
    const { run_id, pause_id } = await pausedRun(tenant);
    const { page } = await signedIn(browser, tenant, "editor", `/inbox/${pause_id}`);
    const amount = page.getByLabel("Amount");
    await page.getByRole("button", { name: "Approve" }).click();
    await expect.poll(() => describedBy(amount)).toBe("is required");
    await amount.fill("1000");
    await page.getByRole("button", { name: "Approve" }).click();
    await expect.poll(() => describedBy(amount)).toBe("must be <= 100");
    expect(await amount.getAttribute("aria-invalid")).toBe("true");
    // The focus is on the field to correct.
    await amount.and(page.locator(":focus")).waitFor();
    expect((await tenant.secret.get(`/v2/runs/${run_id}`)).body.state).toBe("PAUSED");
    await page.getByLabel("Amount").fill("10");
    await page.getByRole("button", { name: "Approve" }).click();
    await text(page, /by you/);
    const run = await tenant.until(run_id, "COMPLETED");
    expect(run.outputs["out-0"]).toContain('"amount":10');
  });

  it("tells the slower of two people who decided, and removes the form", async () => {
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
  });

  it("handles more than a page of approvals, announces changes, and sends few requests", async () => {
    const own = await openTenant();
    const { pause_id } = await pausedRun(own, "Zoe");
    // Inserts more than a hundred pauses of this run directly as rows.
    await own.withDatabase((database) =>
      database.org(own.org_id, (db) =>
        db.query(
          `insert into run_pauses select (jsonb_populate_record(p, jsonb_build_object('pause_id', id, 'path', 'copy-' || id))).*
             from run_pauses p, unnest($2::uuid[]) id where p.pause_id = $1`,
          [pause_id, Array.from({ length: 120 }, () => uuidv7())],
        ),
      ),
    );
    const { page, context } = await openWindow(browser);
    await page.clock.install();
    const { context: same } = await signedIn(browser, own, "editor");
    await context.addCookies(await same.cookies());
    const asked: string[] = [];
    page.on("request", (request) => {
      const { pathname } = new URL(request.url());
      if (pathname.startsWith("/v2/pauses")) asked.push(pathname);
    });
    await page.goto(address(own, `/inbox/${pause_id}`));
    const rows = page.getByRole("navigation", { name: "Waiting approvals" }).getByRole("link");
    await expect.poll(() => rows.count()).toBe(100);
    await page.getByRole("link", { name: /^Inbox\s*100\+/ }).waitFor();
    await page.getByRole("button", { name: "Load more" }).click();
    await expect.poll(() => rows.count()).toBe(121);

    asked.length = 0;
    // Measured by the clock of the page, which keeps running while the test works.
    const now = (): Promise<number> => page.evaluate<number>("Date.now()");
    const began = await now();
    for (let second = 0; second < 60; second += 1) {
      await page.clock.runFor(1000);
      await page.evaluate("new Promise((resolve) => requestIdleCallback(resolve))");
    }
    // Each page of the list, and the open pause, are fetched every 5 s.
    const seconds = ((await now()) - began) / 1000;
    expect(seconds).toBeGreaterThanOrEqual(60);
    expect(asked.length).toBeLessThanOrEqual((seconds / 5) * 3 + 3);
    await page.evaluate(`
      Object.defineProperty(document, "visibilityState", { configurable: true, get: () => "hidden" });
      dispatchEvent(new Event("visibilitychange"));
    `);
    asked.length = 0;
    for (let second = 0; second < 30; second += 1) await page.clock.runFor(1000);
    expect(asked).toEqual([]);
    await page.evaluate(`
      delete document.visibilityState;
      dispatchEvent(new Event("visibilitychange"));
    `);
    await own.withDatabase((database) =>
      database.org(own.org_id, (db) =>
        db.query("update run_pauses set status = 'cancelled' where path = (select max(path) from run_pauses)"),
      ),
    );
    await expect
      .poll(async () => {
        await page.clock.runFor(5000);
        return page.getByText("1 removed", { exact: true }).count();
      })
      .toBeGreaterThan(0);
    await Promise.all([context.close(), same.close()]);
  });

  it("shows a viewer the question without decision buttons", async () => {
    const { pause_id } = await pausedRun(tenant, "**Grace** <i>");
    const { page } = await signedIn(browser, tenant, "viewer", `/inbox/${pause_id}`);
    // The list shows the text without Markdown formatting.
    await expect.poll(() => page.locator(".inbox-message").allInnerTexts()).toContain("Pay Grace <i>?");
    await page.getByRole("heading", { name: "Pay Grace <i>?" }).waitFor();
    await text(page, "can view this approval but not decide it");
    expect(await page.getByRole("button", { name: "Approve" }).count()).toBe(0);
  });
});
