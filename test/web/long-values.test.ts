import { text as textOf } from "node:stream/consumers";
import type { Download, Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { flow } from "../engine/support.ts";
import { overflow, signedIn, text, violations } from "./support/console.ts";
import { browser, tenant, useConsole } from "./support/shared-console.ts";

useConsole();

const PAGE = 64 * 1024;
/** An idle browser stays below 50 ms, the usual limit for a long task. Searching all pages in one task took 2900 ms. */
const LONGEST_TASK_MS = 1000;

/** A run with a node whose output is `value`, which a script computes from a number. */
async function runGiving(source: string, n: number): Promise<string> {
  const project_id = await tenant.deploy(
    flow(
      [
        { id: "in-0", type: "input" },
        { id: "code-0", type: "code", config: { source, args: { n: 'int(nodes["in-0"])' } } },
        { id: "out-0", type: "output", config: { value: "done" } },
      ],
      ["in-0>code-0", "code-0>out-0"],
    ),
  );
  const given = { project_id, inputs: { "in-0": String(n) }, mode: "sync", wait_seconds: 60 };
  const { body } = await tenant.secret.post("/v2/runs", given);
  expect(body.state, JSON.stringify(body.error)).toBe("COMPLETED");
  return body.run_id;
}

const LINES = `function main({ n }) {
  const lines = [];
  for (let at = 0; at < n; at++) lines.push("line " + at + " \\u00e9 \\ud83d\\ude00 \\"said\\"");
  return lines.join("\\n");
}`;
const linesOf = (n: number): string => Array.from({ length: n }, (_, at) => `line ${at} é 😀 "said"`).join("\n");

const output = (page: Page) => page.getByRole("group", { name: "Output of code-0" });
/** The page of the value that a button opens. */
async function turn(page: Page, button: "Next page" | "Previous page"): Promise<string> {
  const from = await output(page).textContent();
  await page.getByRole("button", { name: button }).click();
  await expect.poll(() => output(page).textContent()).not.toBe(from);
  return (await output(page).textContent()) ?? "";
}
/** Reads the download as a stream, because the browser may run on another machine. */
const saved = async (download: Download): Promise<string> => textOf(await download.createReadStream());
const copied = (page: Page): Promise<string> => page.evaluate("navigator.clipboard.readText()");

describe("a long value of a node", () => {
  it("is loaded and drawn page by page, as text without escapes, and copied whole", async () => {
    const run_id = await runGiving(LINES, 12_000);
    const { page, context } = await signedIn(browser, tenant, "viewer", `/runs/${run_id}?node=code-0`);
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    const asked: string[] = [];
    page.on("request", (request) => {
      if (request.url().includes("/node/value")) asked.push(new URL(request.url()).searchParams.get("offset") ?? "");
    });
    await page.reload();
    await output(page).waitFor();
    const whole = linesOf(12_000);
    const first = (await output(page).textContent()) ?? "";
    expect(whole.startsWith(first)).toBe(true);
    expect(first.length).toBeGreaterThan(PAGE / 2);
    expect(asked).toEqual(["0"]);

    const second = await turn(page, "Next page");
    // No character is lost between two pages, and no escape is split.
    expect(whole.startsWith(first + second)).toBe(true);
    expect(asked).toHaveLength(2);
    // Pages that were read are not requested again.
    await page.getByRole("button", { name: "Previous page" }).click();
    await expect.poll(() => output(page).textContent()).toBe(first);
    expect(asked).toHaveLength(2);
    expect(await violations(page)).toEqual([]);

    // Copying fetches the pages that have not been read.
    await page.getByRole("button", { name: "Copy all" }).click();
    await expect.poll(async () => (await copied(page)).length).toBe(whole.length);
    expect((await copied(page)) === whole).toBe(true);
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download" }).click(),
    ]);
    expect(download.suggestedFilename()).toBe("code-0-output.txt");
    expect((await saved(download)) === whole).toBe(true);
  });

  it("can be searched in the loaded pages, also across page borders", async () => {
    const run_id = await runGiving(LINES, 12_000);
    const { page } = await signedIn(browser, tenant, "viewer", `/runs/${run_id}?node=code-0`, { width: 360 });
    await output(page).waitFor();
    const find = page.getByRole("searchbox", { name: "Find in Output of code-0" });
    await find.fill("LINE 11999 É");
    await find.press("Enter");
    await text(page, "Not found in loaded pages");
    await page.getByRole("button", { name: "Load all" }).click();
    await page.getByRole("button", { name: "Load all" }).waitFor({ state: "detached" });
    await find.press("Enter");
    await text(page, /^1 of 1$/);
    const mark = output(page).locator("mark");
    await expect.poll(() => mark.textContent()).toBe("line 11999 é");
    // This text begins on one page and ends on the next.
    const last = (await output(page).textContent()) ?? "";
    const before = await turn(page, "Previous page");
    const beginning = before.slice(before.lastIndexOf("\n") + 1);
    expect(beginning).not.toBe("");
    await find.fill(`${beginning}${last.slice(0, last.indexOf("\n"))}`);
    await find.press("Enter");
    // The earlier hits stay visible until the new search finds one.
    await expect.poll(() => mark.allTextContents()).toEqual([beginning]);
    await page.getByText(/^1 of 1$/).waitFor();
    expect(await violations(page)).toEqual([]);
    expect(await overflow(page)).toBeLessThanOrEqual(1);
  });

  it("is indented unless it is text, and does not freeze the page at 10 MB", async () => {
    const ITEMS = `function main({ n }) {
      const items = [];
      for (let at = 0; at < n; at++) items.push({ id: at, name: "item, {" + at + "}", tags: [], empty: {}, ok: true });
      return items;
    }`;
    const items = 160_000;
    const run_id = await runGiving(ITEMS, items);
    const { page } = await signedIn(browser, tenant, "viewer", `/runs/${run_id}?node=code-0`);
    await output(page).waitFor();
    const first = (await output(page).textContent()) ?? "";
    const all = Array.from({ length: items }, (_, id) => ({
      id,
      name: `item, {${id}}`,
      tags: [],
      empty: {},
      ok: true,
    }));
    const pretty = JSON.stringify(all, null, 2);
    expect(JSON.stringify(all).length).toBeGreaterThan(10_000_000);
    expect(pretty.startsWith(first)).toBe(true);
    // Only one page is drawn, whatever the length of the value.
    expect(first.length).toBeLessThan(4 * PAGE);
    await page.evaluate(`globalThis.longest = 0;
      new PerformanceObserver((list) => {
        for (const { duration } of list.getEntries()) globalThis.longest = Math.max(globalThis.longest, duration);
      }).observe({ type: "longtask" });`);
    await page.getByRole("button", { name: "Next page" }).click();
    await page.getByText(/^Page 2 of/).waitFor();
    await page.getByRole("button", { name: "Load all" }).click();
    await page.getByRole("button", { name: "Load all" }).waitFor({ state: "detached", timeout: 120_000 });
    const find = page.getByRole("searchbox", { name: "Find in Output of code-0" });
    await find.fill(`item, {${items - 1}}`);
    await find.press("Enter");
    await page.getByText("1 of 1", { exact: true }).waitFor();
    const longest = await page.evaluate<number>("globalThis.longest");
    process.stdout.write(`10 MB of JSON: the longest task took ${Math.round(longest)} ms\n`);
    expect(longest).toBeLessThan(LONGEST_TASK_MS);
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download" }).click(),
    ]);
    expect((await saved(download)) === pretty).toBe(true);
  }, 240_000);
});
