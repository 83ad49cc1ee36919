import { expect, it } from "vitest";
import { signedIn } from "./support/console.ts";
import { draftOf, edgesIn, editorOf, newFlow, nodeIds, saved } from "./support/editor.ts";
import { browser, tenant, useConsole } from "./support/shared-console.ts";

useConsole();

const EIGHT = ["in-0", "if-0", "tpl-0", "tpl-1", "approval-0", "set-0", "delay-0", "out-0"].toSorted();

it("draws a flow of eight nodes by keyboard alone, and walks along its edges", async () => {
  const project = await newFlow(tenant, "By keyboard");
  const { page } = await signedIn(browser, tenant, "editor", editorOf(project), { width: 1600, height: 1200 });
  await page.getByRole("heading", { name: "Empty flow" }).waitFor();
  const isAt = async (id: string): Promise<void> => {
    await expect.poll(() => page.evaluate("document.activeElement.dataset.id")).toBe(id);
  };
  const announced = (what: string) =>
    page.locator(".visually-hidden[role=status]").getByText(what, { exact: true }).waitFor({ state: "attached" });
  const add = async (title: string, id: string): Promise<void> => {
    await page.keyboard.press("n");
    await page.getByRole("combobox", { name: "Search node types" }).waitFor();
    await page.keyboard.type(title);
    await page.keyboard.press("Enter");
    await isAt(id);
  };
  const connect = async (to: string, handle?: string): Promise<void> => {
    await page.keyboard.press("c");
    const dialog = page.getByRole("dialog", { name: /^Connect / });
    await dialog.waitFor();
    if (handle !== undefined) {
      await page.keyboard.type(handle);
      await page.keyboard.press("Tab");
    }
    await page.keyboard.type(to);
    await page.keyboard.press("Enter");
    if (await dialog.isVisible()) await dialog.getByRole("button", { name: "Connect" }).press("Enter");
    await dialog.waitFor({ state: "detached" });
  };
  await add("Text", "in-0");
  await add("Condition", "if-0");
  await announced("Condition if-0 added, connected to in-0");
  await add("Template", "tpl-0");
  await add("Output", "out-0");
  await page.keyboard.press("ArrowUp");
  await isAt("tpl-0");
  await page.keyboard.press("ArrowUp");
  await isAt("if-0");
  await add("Approval", "approval-0");
  await add("Template", "tpl-1");
  await connect("Output");
  await page.keyboard.press("ArrowUp");
  await isAt("approval-0");
  await page.keyboard.press("ArrowUp");
  await isAt("if-0");
  // An edge can be deleted and drawn again from the list of edges of its node.
  await page.keyboard.press("c");
  await page.getByRole("button", { name: "Delete edge to Approval (approval-0)" }).press("Enter");
  await page.keyboard.press("Escape");
  await isAt("if-0");
  await connect("Approval", "else");
  await page.keyboard.press("ArrowUp");
  await isAt("in-0");
  await add("Values", "set-0");
  await add("Delay", "delay-0");
  await connect("Output");
  expect(await nodeIds(page)).toEqual(EIGHT);
  await page.keyboard.press("t");
  await announced("8 nodes tidied up");
  await saved(page);
  const drawn = edgesIn(await draftOf(tenant, project));
  expect(drawn).toEqual(
    [
      "in-0>if-0",
      "if-0:case:large>tpl-0",
      "tpl-0>out-0",
      "if-0:else>approval-0",
      "approval-0:approve>tpl-1",
      "tpl-1>out-0",
      "in-0>set-0",
      "set-0>delay-0",
      "delay-0>out-0",
    ].toSorted(),
  );
  // Copies keep the edges between them and get IDs of their own; a step back takes them away.
  await page.keyboard.press("Control+a");
  await page.keyboard.press("Control+d");
  await expect.poll(async () => (await nodeIds(page)).length).toBe(16);
  await page.keyboard.press("Control+z");
  await expect.poll(() => nodeIds(page)).toEqual(EIGHT);
  await page.keyboard.press("Control+Shift+z");
  await expect.poll(async () => (await nodeIds(page)).length).toBe(16);
  await page.keyboard.press("Control+y");
  await announced("Nothing to redo");
});
