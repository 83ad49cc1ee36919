import { expect, it } from "vitest";
import { signedIn } from "./support/console.ts";
import {
  choose,
  connect,
  draftOf,
  edgesIn,
  editorOf,
  moveNode,
  newFlow,
  node,
  nodeIds,
  pull,
  saved,
} from "./support/editor.ts";
import { browser, tenant, useConsole } from "./support/shared-console.ts";

useConsole();

const EIGHT = ["in-0", "if-0", "tpl-0", "tpl-1", "approval-0", "set-0", "delay-0", "out-0"].toSorted();

it("draws a flow of eight nodes by mouse: add, drop an edge, connect, insert, move, delete and undo", async () => {
  const project = await newFlow(tenant, "By mouse");
  const { page } = await signedIn(browser, tenant, "editor", editorOf(project), { width: 1600, height: 1200 });
  const add = page.getByRole("toolbar", { name: "Edit the flow" }).getByRole("button", { name: "Add node" });
  await page.getByRole("heading", { name: "Empty flow" }).waitFor();
  await add.click();
  await choose(page, "Text");
  await node(page, "in-0").waitFor();
  // An edge that is dropped on empty canvas asks for the node; an input does not fit there.
  await pull(page, "in-0", 120);
  await page.getByRole("option", { name: /^Condition/ }).waitFor();
  expect(await page.getByRole("option", { name: /^Text/ }).count()).toBe(0);
  await choose(page, "Condition");
  await node(page, "if-0").waitFor();
  await page.getByRole("button", { name: "Fit to window" }).click();
  await pull(page, "if-0", 160, "case:large");
  await choose(page, "Template");
  await node(page, "tpl-0").waitFor();
  await page.keyboard.press("Escape");
  await pull(page, "if-0", 300, "else");
  await choose(page, "Approval");
  await node(page, "approval-0").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Fit to window" }).click();
  await pull(page, "approval-0", 120, "reject");
  await choose(page, "Template");
  await node(page, "tpl-1").waitFor();
  await page.keyboard.press("Escape");
  await pull(page, "tpl-1", 120);
  await choose(page, "Output");
  await node(page, "out-0").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Tidy up" }).click();
  await page.getByRole("button", { name: "Fit to window" }).click();
  await connect(page, "tpl-0", "out-0");
  await connect(page, "approval-0", "tpl-0", "approve");
  // An edge back would close a cycle.
  await connect(page, "tpl-0", "if-0");
  await page.locator(".react-flow__edge").nth(0).click({ force: true });
  await page.getByRole("button", { name: "Insert a node on this edge" }).click();
  await choose(page, "Delay");
  await node(page, "delay-0").waitFor();
  await page.keyboard.press("Escape");
  await add.click();
  await choose(page, "Values");
  await node(page, "set-0").waitFor();
  await page.keyboard.press("Escape");
  expect(await nodeIds(page)).toEqual(EIGHT);
  await page.getByRole("button", { name: "Fit to window" }).click();
  await connect(page, "set-0", "out-0");
  const before = await node(page, "set-0").boundingBox();
  await moveNode(page, "set-0", { x: 64, y: 32 });
  await expect
    .poll(async () => ((await node(page, "set-0").boundingBox())?.x ?? 0) - (before?.x ?? 0))
    .toBeGreaterThan(30);
  await saved(page);
  const draft = await draftOf(tenant, project);
  expect(edgesIn(draft)).toEqual(
    [
      "in-0>delay-0",
      "delay-0>if-0",
      "if-0:case:large>tpl-0",
      "if-0:else>approval-0",
      "approval-0:reject>tpl-1",
      "approval-0:approve>tpl-0",
      "tpl-0>out-0",
      "tpl-1>out-0",
      "set-0>out-0",
    ].toSorted(),
  );
  // Backspace deletes nothing; Delete does, and leaves an edge past the node.
  await node(page, "delay-0").locator(".step-title").click();
  await page.keyboard.press("Backspace");
  expect(await nodeIds(page)).toEqual(EIGHT);
  await page.keyboard.press("Delete");
  await expect.poll(() => nodeIds(page)).toEqual(EIGHT.filter((id) => id !== "delay-0"));
  await saved(page);
  expect(edgesIn(await draftOf(tenant, project))).toContain("in-0>if-0");
  await page.keyboard.press("Control+z");
  await expect.poll(() => nodeIds(page)).toEqual(EIGHT);
  await page.reload();
  await expect.poll(() => nodeIds(page)).toContain("approval-0");
});
