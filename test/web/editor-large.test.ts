import { loadavg } from "node:os";
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { flow } from "../engine/support.ts";
import { SHARE } from "../support/long.ts";
import { signedIn, visit } from "./support/console.ts";
import { draftOf, editorOf, newFlow, node, nodeIds } from "./support/editor.ts";
import { browser, tenant, useConsole } from "./support/shared-console.ts";

useConsole();

/** Chains of templates beside each other, between an input and an output. */
function large(count: number) {
  const chains = Math.floor((count - 2) / 10);
  const names = Array.from({ length: chains * 10 }, (_, at) => `t-${Math.floor(at / 10)}-${at % 10}`);
  const nodes = names.map((id) => ({
    id,
    type: "template",
    name: `Step ${id}`,
    config: { template: "Hello {{in-0}}" },
  }));
  const edges = names.flatMap((id, at) => [
    at % 10 === 0 ? `in-0>${id}` : `${names[at - 1] ?? ""}>${id}`,
    ...(at % 10 === 9 ? [`${id}>out-0`] : []),
  ]);
  return flow([{ id: "in-0", type: "input" }, ...nodes, { id: "out-0", type: "output" }], edges);
}

/** Frames a second of the page while something is done. */
async function framesDuring(page: Page, work: () => Promise<void>): Promise<number> {
  await page.evaluate(`(() => {
    const count = { frames: 0, since: performance.now(), isOver: false };
    const next = () => { count.frames += 1; if (!count.isOver) requestAnimationFrame(next); };
    requestAnimationFrame(next);
    globalThis.counted = count;
  })()`);
  await work();
  return page.evaluate<number>(`(() => {
    counted.isOver = true;
    return counted.frames / ((performance.now() - counted.since) / 1000);
  })()`);
}

const dragFrom = async (page: Page, { x, y }: { readonly x: number; readonly y: number }): Promise<void> => {
  await page.mouse.down();
  for (let at = 0; at < 120; at += 1) await page.mouse.move(x + 3 * at, y + (at % 20) * 4);
  await page.mouse.up();
};

/** A place of the canvas where nothing is drawn. */
const EMPTY_PLACE = `(() => {
  for (let y = 300; y < 700; y += 10)
    for (let x = 300; x < 900; x += 10)
      if (document.elementFromPoint(x, y)?.matches(".react-flow__pane")) return { x, y };
  throw new Error("no empty place");
})()`;

it.each(SHARE < 1 ? [500] : [500, 1000])(
  "opens a flow of %i nodes, and drags, pans and zooms it",
  async (count) => {
    const project = await newFlow(tenant, `Large ${count}`, large(count));
    const { page } = await signedIn(browser, tenant, "editor", "/runs");
    await visit(page, editorOf(await newFlow(tenant, "Small", large(12))));
    await page.locator(".react-flow__node-step").first().waitFor();
    await visit(page, "/runs");
    await page.getByRole("heading", { name: "Runs", exact: true }).waitFor();
    const since = Date.now();
    await visit(page, editorOf(project));
    await page.getByRole("heading", { name: `Large ${count} · Editor` }).waitFor();
    await page.locator(".react-flow__node-step").first().waitFor();
    const opened = Date.now() - since;
    await page.locator(".react-flow__edge").first().waitFor({ state: "attached" });
    const first = (await page.locator(".react-flow__node-step").first().getAttribute("data-id")) ?? "";
    const placeOf = async (id: string) => (await draftOf(tenant, project)).ui?.positions?.[id];
    const shown = () => page.locator(".react-flow__viewport").getAttribute("style");
    const box = await node(page, first).locator(".step-title").boundingBox();
    const grip = { x: (box?.x ?? 0) + 20, y: (box?.y ?? 0) + 8 };
    await page.mouse.move(grip.x, grip.y);
    const dragging = await framesDuring(page, () => dragFrom(page, grip));
    await expect.poll(() => placeOf(first)).toBeDefined();
    await page.keyboard.press("Escape");
    const empty = await page.evaluate<{ readonly x: number; readonly y: number }>(EMPTY_PLACE);
    await page.mouse.move(empty.x, empty.y);
    const beforePan = await shown();
    const panning = await framesDuring(page, () => dragFrom(page, empty));
    expect(await shown()).not.toBe(beforePan);
    const zooming = await framesDuring(page, async () => {
      for (let at = 0; at < 60; at += 1) await page.mouse.wheel(0, at < 30 ? 60 : -60);
      await page.waitForTimeout(200);
    });
    process.stderr.write(`${JSON.stringify({ count, opened, dragging, panning, zooming, load: loadavg()[0] })}\n`);
    // Afterwards everything can still be reached and edited.
    await page.keyboard.press("0");
    await expect.poll(async () => (await nodeIds(page)).length).toBeGreaterThan(100);
    const before = await placeOf(first);
    await visit(page, editorOf(project, `?node=${first}`));
    await page.getByRole("complementary", { name: "Node" }).getByLabel("Name").waitFor();
    await page.keyboard.press("Alt+ArrowRight");
    await expect.poll(() => placeOf(first)).not.toEqual(before);
  },
  120_000,
);
