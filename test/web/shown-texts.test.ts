import { mkdirSync } from "node:fs";
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { operations } from "../api/http/conformance.ts";
import { asking, echo, failing } from "../api/tenant.ts";
import { flow } from "../engine/support.ts";
import { openWindow, overflow, signedIn, text, visit } from "./support/console.ts";
import { browser, tenant, useConsole } from "./support/shared-console.ts";

useConsole();

const shots = process.env["MILLRACE_SHOTS"];
async function shoot(page: Page, name: string): Promise<void> {
  if (shots === undefined) return;
  mkdirSync(shots, { recursive: true });
  await page.screenshot({ path: `${shots}/${name}.png` });
}

/** Whether a page contains a direction character, in its text or in titles. */
const obeys = (page: Page): Promise<boolean> =>
  page.evaluate(`[document.body.innerText, ...[...document.querySelectorAll("[title], [aria-label]")]
    .flatMap((each) => [each.title, each.ariaLabel])].some((each) => /[\\u200b\\u202a-\\u202e\\u2066-\\u2069]/.test(each ?? ""))`);

describe("direction-marks: a person who decides", () => {
  it("sees a mark for characters that reverse or hide text, in names, values, approvals and forms", async () => {
    const form = {
      type: "object",
      properties: { file: { type: "string", title: "File", default: "bill\u202Efdp.exe" } },
    };
    const project_id = await tenant.deploy(asking({ message: "Open **annual\u202Efdp.exe**?", form }));
    await tenant.secret.patch(`/v2/projects/${project_id}`, { name: "pay\u200Bments\u202Efdp" });
    const { body: run } = await tenant.secret.post("/v2/runs", { project_id, inputs: { "in-0": "x\u2066y" } });
    const [pause] = (await tenant.until(run.run_id, "PAUSED")).pauses ?? [];
    const { page } = await signedIn(browser, tenant, "editor", "/runs");
    const look = async (path: string, sign: string): Promise<void> => {
      await visit(page, path);
      // The sign also occurs in an invisible list of projects.
      await page.getByText(sign).locator("visible=true").first().waitFor();
      expect(await obeys(page), path).toBe(false);
    };
    await look("/runs", "pay⟨U+200B⟩ments⟨U+202E⟩fdp");
    await look(`/runs/${run.run_id}`, "pay⟨U+200B⟩ments⟨U+202E⟩fdp");
    await look(`/runs/${run.run_id}?node=in-0`, "x⟨U+2066⟩y");
    await look("/inbox?show=all", "Open annual⟨U+202E⟩fdp.exe?");
    const { data } = (await tenant.secret.get("/v2/pauses", { query: { status: "waiting" } })).body;
    const pause_id = pause?.pause_id ?? data.find((each: { run_id: string }) => each.run_id === run.run_id).pause_id;
    await look(`/inbox/${pause_id}`, "annual⟨U+202E⟩fdp.exe");
    await text(page, "invisible or change the text direction: bill⟨U+202E⟩fdp.exe");
    await shoot(page, "direction-marks");
    // The decision is sent with the original text.
    await page.getByRole("button", { name: "Approve" }).click();
    expect((await tenant.until(run.run_id, "COMPLETED")).outputs["out-0"]).toContain("bill\u202Efdp.exe");
  });

  it("sees whole characters where a long text is truncated", async () => {
    const project_id = await tenant.deploy(echo());
    const long = `${"a".repeat(3999)}👩‍👩‍👧‍👦${"b".repeat(100)}`;
    const { body: run } = await tenant.secret.post("/v2/runs", { project_id, inputs: { "in-0": long }, mode: "sync" });
    const { page } = await signedIn(browser, tenant, "viewer", `/runs/${run.run_id}?node=in-0`);
    const shown = page.locator(".value-text").first();
    await shown.waitFor();
    expect(await shown.innerText()).toMatch(/^a{3999}… /);
    await shown.getByRole("button", { name: /^Show more/ }).click();
    expect(await shown.innerText()).toContain("👩‍👩‍👧‍👦b");
  });
});

it("home shows three lines of a long message without spaces, and days on the time axis", async () => {
  const long = flow(
    [
      { id: "in-0", type: "input", config: { required: false, default: "x" } },
      { id: "guard-0", type: "guard", config: { check: "false", message: "x".repeat(4000) } },
      { id: "out-0", type: "output" },
    ],
    ["in-0>guard-0", "guard-0>out-0"],
  );
  for (const definition of [long, failing()])
    await tenant.secret.post("/v2/runs", { project_id: await tenant.deploy(definition), inputs: {}, mode: "sync" });
  const { page } = await signedIn(browser, tenant, "viewer", "/");
  const message = page.getByRole("list", { name: "Recent failed runs" }).locator(".clamp", { hasText: "xxxx" });
  await message.waitFor();
  const [height, line] = await message.evaluate((each) => [
    (each as unknown as { clientHeight: number }).clientHeight,
    20,
  ]);
  expect(height).toBeGreaterThan(2 * line);
  expect(height).toBeLessThanOrEqual(3 * 24);
  expect(await overflow(page)).toBeLessThanOrEqual(1);
  const ends = await page.locator(".bars > .spread span").allInnerTexts();
  for (const each of ends) expect(each).toMatch(/^\w{3}, \w{3} \d{1,2}, \d{2}:\d{2} [AP]M$/);
  await shoot(page, "home");
});

it("the API reference shows its list and a placeholder until the document has loaded", async () => {
  const { page } = await openWindow(browser);
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  await page.route("**/openapi.json", async (route) => {
    await held;
    await route.continue();
  });
  await page.goto(`${tenant.target.url}/docs#cancelRun`);
  const list = page.getByRole("navigation", { name: "Operations" });
  await list.getByRole("link").first().waitFor();
  expect(await list.getByRole("link").count()).toBe(operations.length);
  // Also far down the list it is in view.
  await expect.poll(() => list.locator("[aria-current=page]").innerText()).toContain("Cancel a run");
  await page.getByRole("status").getByText("Loading the API reference").waitFor({ state: "attached" });
  await page.getByRole("searchbox").fill("dataset");
  await expect.poll(() => list.getByRole("link").count()).toBeLessThan(operations.length);
  await shoot(page, "docs-loading");
  release();
  await page.getByRole("heading", { name: "Cancel a run", level: 1 }).waitFor();
  await shoot(page, "docs");
});
