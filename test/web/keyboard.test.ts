import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { flow } from "../engine/support.ts";
import { address, signedIn, text, visit } from "./support/console.ts";
import { pausedRun } from "./support/pauses.ts";
import { browser, tenant, useConsole } from "./support/shared-console.ts";

useConsole();

/** Tag and text of the focused element; the tag tells a heading from the link with the same text. */
const focused = (page: Page) =>
  page.evaluate<string>("document.activeElement.tagName + ' ' + document.activeElement.textContent");

describe("the focus", () => {
  it("moves into a dialog to its first field, then back to the button that opened it, or to the page if that button is gone", async () => {
    const { body: key } = await tenant.secret.post("/v2/api-keys", { name: "short-lived", kind: "public" });
    const { page } = await signedIn(browser, tenant, "admin", "/access?tab=keys");
    await page.getByRole("button", { name: "Create API key" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("dialog", { name: "Create API key" }).waitFor();
    await page.keyboard.type("typed at once");
    expect(await page.getByLabel("Name").inputValue()).toBe("typed at once");
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await expect.poll(() => focused(page)).toMatch(/^BUTTON\s+Create API key/);
    // The button that opens the next dialog is gone before that closes, because someone else revokes the key.
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
  });

  it("moves to the heading of a new page, which is announced, and stays on a row whose details open beside it", async () => {
    const { pause_id } = await pausedRun(tenant);
    const { page } = await signedIn(browser, tenant, "editor", "/");
    await page.getByRole("heading", { name: "Home" }).waitFor();
    await page.getByRole("link", { name: "Access" }).click();
    await expect.poll(() => focused(page)).toBe("H1 Access");
    await page.locator(".visually-hidden[role=status]").getByText("Access").waitFor({ state: "attached" });
    await page.getByRole("link", { name: /^Inbox/ }).click();
    // The previous page has rows too, so the focus must be on the heading of this one.
    await page.getByRole("navigation", { name: "Waiting approvals" }).locator("[data-row]").waitFor();
    await expect.poll(() => focused(page)).toBe("H1 Inbox");
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.waitForURL(address(tenant, `/inbox/${pause_id}`));
    await page.getByLabel("Amount").waitFor();
    await expect.poll(() => page.evaluate("document.activeElement?.hasAttribute('data-row')")).toBe(true);
  });
});

describe("the keys j and k", () => {
  it("move from one list on a page to the next, and back", async () => {
    // The node retries for longer than the stuck limit of the test installation.
    const retry = { max_attempts: 100, initial_interval_ms: 2000, backoff: 1 };
    const nodes = [
      { id: "in-0", type: "input" },
      { id: "http-0", type: "http", config: { method: "GET", url: "http://127.0.0.1:9/" }, retry },
      { id: "out-0", type: "output" },
    ];
    const id = await tenant.deploy(flow(nodes, ["in-0>http-0", "http-0>out-0"]));
    const begin = () => tenant.secret.post("/v2/runs", { project_id: id, inputs: { "in-0": "x" } });
    const runs = [await begin(), await begin()];
    const { page } = await signedIn(browser, tenant, "admin", "/");
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
  });
});

describe("a shortcut key that is pressed in a field", () => {
  it("is typed as text, and moves nothing", async () => {
    const { page } = await signedIn(browser, tenant, "admin", "/usage");
    await page.keyboard.press("Control+k");
    const field = page.getByRole("combobox", { name: "Page, project or run ID" });
    await page.keyboard.type("a/b?jk");
    expect(await field.inputValue()).toBe("a/b?jk");
  });
});

describe("a run that is cancelled without a mouse", () => {
  it("leaves the focus on an available action, and refreshes the inbox", async () => {
    const { run_id } = await pausedRun(tenant);
    const { page } = await signedIn(browser, tenant, "editor", `/runs/${run_id}`);
    await page.getByRole("button", { name: "Cancel…" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.type("Not needed");
    // A hidden tab does not poll, so this request can only come from the action.
    await page.evaluate('Object.defineProperty(document, "visibilityState", { get: () => "hidden" })');
    const read = page.waitForRequest(/\/v2\/pauses\?/);
    await page.keyboard.press("Enter");
    await read;
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Cancel…" }).waitFor({ state: "detached" });
    await expect
      .poll(() => focused(page))
      .toMatch(/^(?:BUTTON|A) .*(?:Rerun…|Resume from…|Add to dataset…|Open in editor)/);
  });
});

describe("a half-filled form", () => {
  it("is kept after the list beside it is filtered again", async () => {
    const { pause_id } = await pausedRun(tenant);
    const { page } = await signedIn(browser, tenant, "editor", `/inbox/${pause_id}`);
    await page.getByLabel("Amount").fill("41");
    // The response for the other filter is held back until the test has checked that nothing disappeared.
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
    await text(page, "No approvals match these filters");
    expect(await page.getByLabel("Amount").inputValue()).toBe("41");
    await visit(page, "/");
  });
});
