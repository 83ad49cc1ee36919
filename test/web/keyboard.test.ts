import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { flow } from "../engine/support.ts";
import { address, signedIn, text, visit } from "./support/console.ts";
import { pausedRun } from "./support/pauses.ts";
import { browser, tenant, useConsole } from "./support/shared-console.ts";

useConsole();

/** What has the focus: its element and text. The links to pages are called as their headings are. */
const focused = (page: Page) =>
  page.evaluate<string>("document.activeElement.tagName + ' ' + document.activeElement.textContent");

describe("the focus", () => {
  it("goes into a dialog, to the field to begin with, and back to what opened it, or to the page where that is gone", async () => {
    const { body: key } = await tenant.secret.post("/v2/api-keys", { name: "short-lived", kind: "public" });
    const { page, context } = await signedIn(browser, tenant, "admin", "/access?tab=keys");
    await page.getByRole("button", { name: "Make a key" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("dialog", { name: "Make a key" }).waitFor();
    await page.keyboard.type("typed at once");
    expect(await page.getByLabel("Name").inputValue()).toBe("typed at once");
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await expect.poll(() => focused(page)).toMatch(/^BUTTON\s+Make a key/);
    // What opens the next one is gone before it closes: somebody else has revoked the key.
    const row = page.locator("tbody tr").filter({ hasText: "short-lived" });
    await row.getByRole("button", { name: "Revoke…" }).press("Enter");
    await page.getByRole("dialog", { name: "Revoke short-lived" }).waitFor();
    await tenant.secret.delete(`/v2/api-keys/${key.key_id}`);
    const lookAgain = async (): Promise<number> => {
      await page.evaluate("dispatchEvent(new Event('visibilitychange'))");
      return row.count();
    };
    await expect.poll(lookAgain).toBe(0);
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    expect(await page.evaluate("document.activeElement.id")).toBe("content");
    await page.keyboard.press("/");
    await page.getByRole("dialog", { name: "Go to" }).waitFor();
    await page.keyboard.type("settings");
    await page.keyboard.press("Enter");
    await page.waitForURL(address(tenant, "/settings"));
    await expect.poll(() => focused(page)).toBe("H1 Settings");
    await context.close();
  });

  it("goes to the head of another page, which is announced, and stays with a row whose details open beside it", async () => {
    const { pause_id } = await pausedRun(tenant);
    const { page, context } = await signedIn(browser, tenant, "editor", "/");
    await page.getByRole("heading", { name: "Home" }).waitFor();
    await page.getByRole("link", { name: "Access" }).click();
    await expect.poll(() => focused(page)).toBe("H1 Access");
    await page.locator(".visually-hidden[role=status]").getByText("Access").waitFor({ state: "attached" });
    await page.getByRole("link", { name: /^Inbox/ }).click();
    // The page before has rows too, and this one begins at its head.
    await page.getByRole("navigation", { name: "Open pauses" }).locator("[data-row]").waitFor();
    await expect.poll(() => focused(page)).toBe("H1 Inbox");
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.waitForURL(address(tenant, `/inbox/${pause_id}`));
    await page.getByLabel("Amount").waitFor();
    await expect.poll(() => page.evaluate("document.activeElement?.hasAttribute('data-row')")).toBe(true);
    await context.close();
  });
});

describe("j and k", () => {
  it("go on from one list of a page to the next, and back", async () => {
    // It has been retrying for longer than the service of the tests finds right.
    const retry = { max_attempts: 100, initial_interval_ms: 2000, backoff: 1 };
    const nodes = [
      { id: "in-0", type: "input" },
      { id: "http-0", type: "http", config: { method: "GET", url: "http://127.0.0.1:9/" }, retry },
      { id: "out-0", type: "output" },
    ];
    const id = await tenant.deploy(flow(nodes, ["in-0>http-0", "http-0>out-0"]));
    const begin = () => tenant.secret.post("/v2/runs", { project_id: id, inputs: { "in-0": "x" } });
    const runs = [await begin(), await begin()];
    const { page, context } = await signedIn(browser, tenant, "admin", "/");
    const rows = page.locator("#content [data-row]");
    await expect.poll(() => page.getByRole("region", { name: "Stuck runs" }).locator("tbody tr").count()).toBe(2);
    await page.getByRole("region", { name: "Queues", exact: true }).waitFor();
    await expect.poll(() => page.locator(".skeleton").count()).toBe(0);
    const names = await rows.allInnerTexts();
    expect(names.length).toBeGreaterThan(4);
    for (const [at] of names.entries()) {
      await page.keyboard.press("j");
      expect(await rows.nth(at).evaluate((row) => row === row.ownerDocument.activeElement)).toBe(true);
    }
    await page.keyboard.press("k");
    expect(await rows.nth(names.length - 2).evaluate((row) => row === row.ownerDocument.activeElement)).toBe(true);
    await Promise.all(runs.map(({ body }) => tenant.secret.post(`/v2/runs/${body.run_id}/cancel`)));
    await context.close();
  });
});

describe("a key that is pressed in a field", () => {
  it("is a part of its text, and moves nothing", async () => {
    const { page, context } = await signedIn(browser, tenant, "admin", "/usage");
    await page.keyboard.press("Control+k");
    const field = page.getByRole("combobox", { name: "Page, project or run id" });
    await page.keyboard.type("a/b?jk");
    expect(await field.inputValue()).toBe("a/b?jk");
    await context.close();
  });
});

describe("a run that is cancelled without a mouse", () => {
  it("leaves the focus with what can be done with it now, and has what waits read anew", async () => {
    const { run_id } = await pausedRun(tenant);
    const { page, context } = await signedIn(browser, tenant, "editor", `/runs/${run_id}`);
    await page.getByRole("button", { name: "Cancel…" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.type("Not needed");
    // A tab that nobody looks at does not poll: what it reads now, it reads because of what was done.
    await page.evaluate('Object.defineProperty(document, "visibilityState", { get: () => "hidden" })');
    const read = page.waitForRequest(/\/v2\/pauses\?/);
    await page.keyboard.press("Enter");
    await read;
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Cancel…" }).waitFor({ state: "detached" });
    await expect.poll(() => focused(page)).toMatch(/^BUTTON .*(?:Run again|Go on from|Dataset row)…/);
    await context.close();
  });
});

describe("what was half filled in", () => {
  it("is still there when the list beside it is filtered anew", async () => {
    const { pause_id } = await pausedRun(tenant);
    const { page, context } = await signedIn(browser, tenant, "editor", `/inbox/${pause_id}`);
    await page.getByLabel("Amount").fill("41");
    // The answer for the other filter is held until it has been seen that nothing has gone.
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    await page.route(/pauses\?.*assignee=me/, async (route) => {
      await held;
      await route.continue();
    });
    await page.getByRole("link", { name: "Assigned to me" }).click();
    await page.waitForURL(address(tenant, `/inbox/${pause_id}?show=mine`));
    expect(await page.getByLabel("Amount").inputValue()).toBe("41");
    release();
    await text(page, "Nothing else waits.");
    expect(await page.getByLabel("Amount").inputValue()).toBe("41");
    await visit(page, "/");
    await context.close();
  });
});
