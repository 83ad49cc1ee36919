import type { Locator, Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { uuidv7 } from "uuidv7";
import { asking, echo } from "../api/tenant.ts";
import { subscribe } from "../api/webhooks/webhooks.ts";
import { startHttpTarget } from "../support/http-target.ts";
import { signedIn, violations } from "./support/console.ts";
import { browser, tenant, useConsole } from "./support/shared-console.ts";

/** Interval at which each list refreshes. */
const LOOKS_AGAIN_MS = 5000;

useConsole();

const hasFocus = (row: Locator): Promise<boolean> => row.evaluate((each) => each === each.ownerDocument.activeElement);
const top = async (row: Locator): Promise<number> => (await row.boundingBox())?.y ?? Number.NaN;

/** Focuses a row, causes a change, and waits for the notice: nothing may have moved. */
async function expectNoJump(page: Page, row: Locator, happen: () => Promise<unknown>, says: string): Promise<void> {
  await row.focus();
  await row.scrollIntoViewIfNeeded();
  const before = await top(row);
  await happen();
  await page.clock.fastForward(LOOKS_AGAIN_MS);
  const notice = page.getByText(says, { exact: true });
  await notice.waitFor();
  // The notice is visible at any scroll position of the list.
  const at = await top(notice);
  expect(at).toBeGreaterThanOrEqual(0);
  expect(at).toBeLessThan(page.viewportSize()?.height ?? 0);
  expect(await top(row)).toBe(before);
  expect(await hasFocus(row)).toBe(true);
}

/** Inserts finished runs that are newer than all others. */
const addRuns = (project_id: string, count: number) =>
  tenant.withDatabase((database) =>
    database.org(tenant.org_id, (db) =>
      db.query(
        `insert into runs (run_id, org_id, project_id, flow_version, state, inputs, run_type, ran_by_type, start_input, timeout_seconds, finished_at)
           select id, $1, $2, 1, 'COMPLETED', '{}', 'api', 'org_api_key', '{}', 60, now() from unnest($3::uuid[]) id`,
        [tenant.org_id, project_id, Array.from({ length: count }, () => uuidv7())],
      ),
    ),
  );

describe("a list that changes while it is open", () => {
  it.each([
    ["wide", 1280],
    ["on a phone", 360],
  ])("announces new items, keeps its position, and shows them on request: runs, %s", async (_, width) => {
    const id = await tenant.deploy(echo());
    await addRuns(id, 45);
    const { page } = await signedIn(browser, tenant, "viewer", `/runs?project_id=${id}`, {
      width,
      ownClock: true,
    });
    const rows = page.locator("[data-list] [data-row]");
    await expect.poll(() => rows.count()).toBe(45);
    // Checked at the top of the list and after scrolling down.
    await expectNoJump(page, rows.nth(1), () => addRuns(id, 2), "2 new runs");
    expect(await violations(page)).toEqual([]);
    await expectNoJump(page, rows.nth(40), () => addRuns(id, 1), "3 new runs");
    expect(await rows.count()).toBe(45);
    await page.getByRole("button", { name: "Show", exact: true }).press("Enter");
    await expect.poll(() => rows.count()).toBe(48);
    await expect.poll(() => hasFocus(rows.first())).toBe(true);
    expect(await top(rows.first())).toBeGreaterThan(0);
    await expect.poll(() => page.getByText(/new runs/).count()).toBe(0);
  });

  it("announces new items and keeps its position: the inbox", async () => {
    const pause = async (message: string): Promise<string> => {
      const project_id = await tenant.deploy(asking({ message }));
      const { body } = await tenant.secret.post("/v2/runs", { project_id, inputs: {} });
      await tenant.until(body.run_id, "PAUSED");
      return body.run_id;
    };
    const first = await pause("First");
    for (const message of ["Second", "Third"]) await pause(message);
    const { page } = await signedIn(browser, tenant, "editor", "/inbox", { ownClock: true });
    const rows = page.getByRole("navigation", { name: "Waiting approvals" }).getByRole("link");
    const messages = () => page.locator(".inbox-message").allTextContents();
    await expect.poll(messages).toEqual(["First", "Second", "Third"]);
    await expectNoJump(page, rows.nth(1), () => pause("Fourth"), "1 new");
    await expectNoJump(page, rows.nth(1), () => tenant.secret.post(`/v2/runs/${first}/cancel`), "1 new, 1 removed");
    expect(await messages()).toEqual(["First", "Second", "Third"]);
    await rows.first().getByText("Closed").waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByRole("button", { name: "Show", exact: true }).click();
    await expect.poll(messages).toEqual(["Second", "Third", "Fourth"]);
    await expect.poll(() => hasFocus(rows.first())).toBe(true);
  });

  it("announces new items and keeps its position: deliveries", async () => {
    const receiver = await startHttpTarget();
    const { id, path } = await subscribe(tenant.secret, { url: receiver.url, events: ["run.failed"] });
    const test = () => tenant.secret.post(`${path}/test`);
    for (let at = 0; at < 3; at += 1) await test();
    const { page } = await signedIn(browser, tenant, "viewer", `/webhooks/${id}`, { ownClock: true });
    const rows = page.locator("[data-list] [data-row]");
    await expect.poll(() => page.locator("[data-list] tbody").getByText("Delivered").count()).toBe(3);
    await expectNoJump(page, rows.nth(1), test, "1 new delivery");
    expect(await rows.count()).toBe(3);
    await page.getByRole("button", { name: "Show", exact: true }).click();
    await expect.poll(() => rows.count()).toBe(4);
    await expect.poll(() => hasFocus(rows.first())).toBe(true);
    await receiver.close();
  });
});
