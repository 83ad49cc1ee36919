import type { Locator, Page } from "playwright-core";
import { beforeAll, expect, it } from "vitest";
import { flow, nested } from "../engine/support.ts";
import { address, checkBothLooks, signedIn, visit } from "./support/console.ts";
import { choose, draftOf, edgesIn, editorOf, newFlow, node, nodeIds, saved } from "./support/editor.ts";
import { browser, tenant, useConsole } from "./support/shared-console.ts";

useConsole();
let page: Page;
let project: string;

const inner = nested(
  [
    { id: "tpl-1", type: "template", config: { template: "{{ index }}: {{ item }}" } },
    { id: "out-1", type: "output" },
  ],
  ["tpl-1>out-1"],
);
const FLOW = flow(
  [
    { id: "in-0", type: "input" },
    { id: "map-0", type: "map", config: { items: 'nodes["in-0"].split(",")', flow: inner } },
    { id: "out-0", type: "output" },
  ],
  ["in-0>map-0", "map-0>out-0"],
);

beforeAll(async () => {
  project = await newFlow(tenant, "Menus", FLOW);
  ({ page } = await signedIn(browser, tenant, "editor", editorOf(project)));
  await node(page, "in-0").waitFor();
});

const menu = (name: string): Locator => page.getByRole("menu", { name });
const item = (name: string): Locator => page.getByRole("menuitem", { name: new RegExp(`^${name}`) });
const focused = (): Promise<string> => page.evaluate("document.activeElement.innerText");

it("opens a menu by the right button on a node, an edge and the canvas, with the commands of the keys", async () => {
  await node(page, "in-0").locator(".step-title").click({ button: "right" });
  await menu("Node in-0").waitFor();
  expect(await page.getByRole("menuitem").allInnerTexts()).toEqual([
    "Settings\nEnter",
    "Add a node after it\nN",
    "Connect\nC",
    "Cut\nCtrl+X",
    "Copy\nCtrl+C",
    "Duplicate\nCtrl+D",
    "Lock\nL",
    "Delete\nDelete",
  ]);
  await checkBothLooks(page, "a menu on the canvas");
  await page.setViewportSize({ width: 1400, height: 900 });
  await item("Duplicate").click();
  await menu("Node in-0").waitFor({ state: "detached" });
  await node(page, "in-1").waitFor();

  const edge = page.locator('.react-flow__edge[data-id*="map-0"][data-id*="out-0"] .react-flow__edge-interaction');
  // The canvas moves to the copy, which its panel would cover.
  const ask = async (): Promise<number> => {
    const box = await edge.boundingBox();
    if (box) await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2, { button: "right" });
    return menu("Edge").count();
  };
  await expect.poll(ask).toBe(1);
  await item("Insert a node").click();
  await choose(page, "Template");
  await expect.poll(async () => edgesIn(await draftOf(tenant, project)), { timeout: 10_000 }).toContain("tpl-0>out-0");

  const canvas = await page.locator(".react-flow__pane").boundingBox();
  if (!canvas) throw new Error("not drawn");
  await page.mouse.click(canvas.x + 40, canvas.y + canvas.height - 120, { button: "right" });
  await menu("Canvas").waitFor();
  await item("Undo").click();
  await expect.poll(() => nodeIds(page)).not.toContain("tpl-0");
  expect(await menu("Canvas").count()).toBe(0);
});

it("opens and works by the keyboard alone, and gives the focus back", async () => {
  await visit(page, editorOf(project, "?node=in-1"));
  await node(page, "in-1").focus();
  await page.keyboard.press("Shift+F10");
  await menu("Node in-1").waitFor();
  expect(await focused()).toContain("Settings");
  await page.keyboard.press("ArrowUp");
  expect(await focused()).toContain("Delete");
  await page.keyboard.press("Home");
  expect(await focused()).toContain("Settings");
  await page.keyboard.press("Escape");
  await menu("Node in-1").waitFor({ state: "detached" });
  expect(await page.evaluate("document.activeElement.dataset.id")).toBe("in-1");
  await page.keyboard.press("ContextMenu");
  for (const key of ["End", "Enter"]) await page.keyboard.press(key);
  await expect.poll(() => nodeIds(page)).not.toContain("in-1");
  await page.keyboard.press("Shift+F10");
  await menu("Canvas").waitFor();
  await page.keyboard.press("Tab");
  await menu("Canvas").waitFor({ state: "detached" });
  await saved(page);
});

it("keeps in the address which maps are open in place", async () => {
  await visit(page, editorOf(project, "?node=map-0"));
  await node(page, "map-0").focus();
  await page.keyboard.press("e");
  await node(page, "map-0/tpl-1").waitFor();
  await expect.poll(() => new URL(page.url()).searchParams.getAll("open")).toEqual(["map-0"]);
  await page.reload();
  await node(page, "map-0/tpl-1").waitFor();
  await visit(page, editorOf(project));
  await node(page, "map-0/tpl-1").waitFor({ state: "detached" });
});

it("previews with the item of the nearest map, which it computes from the values of the last try", async () => {
  const { body: run } = await tenant.secret.post("/v2/runs", {
    project_id: project,
    draft: true,
    inputs: { "in-0": "a,b" },
    mode: "sync",
    wait_seconds: 20,
  });
  await page.goto(address(tenant, editorOf(project, "?in=map-0&node=tpl-1")));
  const panel = page.getByRole("complementary", { name: "Node" });
  await panel.getByLabel("Values of").selectOption(run.run_id as string);
  await panel.getByRole("button", { name: "Preview Template" }).click();
  await panel.getByRole("group", { name: "Preview of Template" }).getByText("1: b").waitFor();
  await visit(page, editorOf(project));
});

it("shows the whole flow again in a smaller window, unless the canvas was moved", async () => {
  await page.goto(address(tenant, editorOf(project)));
  await page.setViewportSize({ width: 1400, height: 900 });
  await node(page, "map-0").waitFor();
  await page.keyboard.press("0");
  await page.setViewportSize({ width: 700, height: 500 });
  const isInside = async (): Promise<boolean> => {
    const frame = await page.locator(".editor-canvas").boundingBox();
    const boxes = await Promise.all((await nodeIds(page)).map((id) => node(page, id).boundingBox()));
    return boxes.every(
      (box) => box && frame && box.y >= frame.y && box.y + box.height <= frame.y + frame.height && box.x >= frame.x,
    );
  };
  await expect.poll(isInside).toBe(true);
  await page.keyboard.press("+");
  const place = (): Promise<string> => page.evaluate("document.querySelector('.react-flow__viewport').style.transform");
  await expect.poll(place).not.toContain("scale(1)");
  const before = await place();
  await page.setViewportSize({ width: 690, height: 480 });
  await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
  expect(await place()).toBe(before);
});

it("does not call a flow unsaved when an invalid text is undone", async () => {
  await page.setViewportSize({ width: 1400, height: 900 });
  await visit(page, editorOf(project, "?panel=json"));
  await saved(page);
  const states: string[] = [];
  await page.exposeFunction("noteState", (state: string) => void states.push(state));
  await page.evaluate(`new MutationObserver(() => noteState(document.querySelector(".editor-saved").innerText))
    .observe(document.querySelector(".editor-saved"), { subtree: true, childList: true, characterData: true })`);
  const json = page.getByRole("textbox", { name: "Flow" });
  await json.click();
  await page.keyboard.press("Control+Home");
  await page.keyboard.type("x");
  await page.getByText("The canvas keeps the last valid flow.").waitFor();
  await page.keyboard.press("Control+z");
  await page.getByText("The canvas keeps the last valid flow.").waitFor({ state: "detached" });
  expect(states.filter((state) => state.includes("Not saved"))).toEqual([]);
});
