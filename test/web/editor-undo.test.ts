import fc from "fast-check";
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { flow } from "../engine/support.ts";
import { signedIn } from "./support/console.ts";
import { draftOf, editorOf, newFlow, node, saved } from "./support/editor.ts";
import { browser, tenant, useConsole } from "./support/shared-console.ts";

useConsole();

const TYPES = ["Template", "Condition", "For each", "Approval", "Values", "Output"];
/** What a person can do with keys alone; each names the keys to press. */
const DEEDS: ReadonlyArray<readonly [weight: number, deed: (page: Page, at: number) => Promise<void>]> = [
  [5, async (page) => page.keyboard.press("ArrowDown")],
  [4, async (page) => page.keyboard.press("ArrowRight")],
  [3, async (page) => page.keyboard.press("ArrowUp")],
  [
    6,
    async (page, at) => {
      await page.keyboard.press("n");
      await page.keyboard.type(TYPES[at % TYPES.length] ?? "");
      await page.keyboard.press("Enter");
    },
  ],
  [4, async (page) => page.keyboard.press("Alt+ArrowRight")],
  [2, async (page) => page.keyboard.press("Control+d")],
  [3, async (page) => page.keyboard.press("Delete")],
  [1, async (page) => page.keyboard.press("t")],
  [2, async (page) => page.keyboard.press("l")],
  [
    2,
    async (page, at) => {
      await page.keyboard.press("s");
      await page.keyboard.type(`Note ${at}`);
      await page.keyboard.press("Escape");
    },
  ],
  [2, async (page) => page.keyboard.press("Control+z")],
];

it("takes 200 random commands back to the first flow, and forward again to the last", async () => {
  const first = flow(
    [
      { id: "in-0", type: "input" },
      { id: "tpl-0", type: "template", config: { template: "Hello {{in-0}}" } },
      { id: "out-0", type: "output" },
    ],
    ["in-0>tpl-0", "tpl-0>out-0"],
  );
  const project = await newFlow(tenant, "Undo", first);
  const { page } = await signedIn(browser, tenant, "editor", editorOf(project, "?panel=json"));
  await node(page, "tpl-0").waitFor();
  const stored = async (): Promise<string> => JSON.stringify(await draftOf(tenant, project));
  const before = await stored();
  const deeds = fc.sample(fc.oneof(...DEEDS.map(([weight, deed]) => ({ weight, arbitrary: fc.constant(deed) }))), 200);
  for (const [at, deed] of deeds.entries()) await deed(page, at);
  await saved(page);
  const after = await stored();
  const undo = page.getByRole("button", { name: "Undo" });
  const redo = page.getByRole("button", { name: "Redo" });
  let steps = 0;
  for (; await undo.isEnabled(); steps += 1) await page.keyboard.press("Control+z");
  await saved(page);
  expect(await stored()).toBe(before);
  expect(steps).toBeGreaterThan(40);
  while (await redo.isEnabled()) await page.keyboard.press("Control+y");
  await saved(page);
  expect(await stored()).toBe(after);
});
