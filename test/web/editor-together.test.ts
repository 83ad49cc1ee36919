import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { flow } from "../engine/support.ts";
import { checkBothLooks, signedIn, visit } from "./support/console.ts";
import { draftOf, edgesIn, editorOf, newFlow, node, nodeIds, saved } from "./support/editor.ts";
import { browser, tenant, useConsole } from "./support/shared-console.ts";

useConsole();

const greeting = () =>
  flow(
    [
      { id: "in-0", type: "input", name: "Name" },
      { id: "tpl-0", type: "template", config: { template: "Hello {{in-0}}" } },
      { id: "out-0", type: "output" },
    ],
    ["in-0>tpl-0", "tpl-0>out-0"],
  );

async function add(page: Page, title: string, id: string): Promise<void> {
  await page.locator("#content").focus();
  await page.keyboard.press("Escape");
  await page.keyboard.press("n");
  await page.keyboard.type(title);
  await page.keyboard.press("Enter");
  await node(page, id).waitFor();
}

it("tells the second of two people at one draft who changed what, and loses neither flow", async () => {
  const project = await newFlow(tenant, "Shared", greeting());
  const ada = await signedIn(browser, tenant, "editor", editorOf(project));
  const grace = await signedIn(browser, tenant, "editor", editorOf(project));
  await Promise.all([node(ada.page, "tpl-0").waitFor(), node(grace.page, "tpl-0").waitFor()]);
  await add(ada.page, "Delay", "delay-0");
  await saved(ada.page);
  await add(grace.page, "Values", "set-0");
  const dialog = grace.page.getByRole("dialog", { name: "Someone else changed this draft" });
  await dialog.getByText(ada.email).waitFor();
  await dialog
    .getByRole("group", { name: "Differences between their flow and yours" })
    .getByText("delay-0")
    .first()
    .waitFor();
  await dialog.getByRole("button", { name: "Take theirs" }).click();
  await expect.poll(() => nodeIds(grace.page)).toEqual(["delay-0", "in-0", "out-0", "tpl-0"]);
  // A step back brings her own flow, which then replaces theirs.
  await grace.page.keyboard.press("Control+z");
  await expect.poll(() => nodeIds(grace.page)).toEqual(["in-0", "out-0", "set-0", "tpl-0"]);
  await saved(grace.page);
  await expect.poll(async () => (await draftOf(tenant, project)).nodes.length).toBe(4);
  await add(ada.page, "Guard", "guard-0");
  const other = ada.page.getByRole("dialog", { name: "Someone else changed this draft" });
  await other.getByRole("button", { name: "Keep mine" }).click();
  await saved(ada.page);
  await expect
    .poll(async () => (await draftOf(tenant, project)).nodes.map(({ id }: { id: string }) => id).toSorted())
    .toEqual(["delay-0", "guard-0", "in-0", "out-0", "tpl-0"]);
  // What was replaced is a step of the history, and can be restored.
  await ada.page.getByText("More", { exact: true }).click();
  await ada.page.getByRole("button", { name: "History" }).click();
  const steps = ada.page.getByRole("list", { name: "Steps of the draft" }).getByRole("listitem");
  await steps.filter({ hasText: grace.email }).getByRole("button", { name: "Compare" }).click();
  await ada.page.getByRole("button", { name: /^Restore step/ }).click();
  await expect.poll(() => nodeIds(ada.page)).toEqual(["in-0", "out-0", "set-0", "tpl-0"]);
});

it("pastes nodes as JSON into another flow, finds and replaces texts, and looks right in both themes", async () => {
  const [from, to] = [await newFlow(tenant, "From", greeting()), await newFlow(tenant, "To", greeting())];
  const { page, context } = await signedIn(browser, tenant, "editor", editorOf(from));
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await node(page, "tpl-0").waitFor();
  await page.keyboard.press("Control+a");
  await page.keyboard.press("Control+c");
  expect(JSON.parse(await page.evaluate<string>("navigator.clipboard.readText()"))).toMatchObject({
    nodes: [{ id: "in-0" }, {}, {}],
  });
  await visit(page, editorOf(to));
  await page.getByRole("heading", { name: "To · Editor" }).waitFor();
  await node(page, "tpl-0").waitFor();
  await page.keyboard.press("Control+v");
  await expect.poll(() => nodeIds(page)).toEqual(["in-0", "in-1", "out-0", "out-1", "tpl-0", "tpl-1"]);
  await saved(page);
  const draft = await draftOf(tenant, to);
  expect(edgesIn(draft)).toEqual(["in-0>tpl-0", "in-1>tpl-1", "tpl-0>out-0", "tpl-1>out-1"]);
  expect(draft.nodes.find(({ id }: { id: string }) => id === "tpl-1").config).toEqual({ template: "Hello {{in-1}}" });
  await page.keyboard.press("Control+f");
  await page.getByLabel("Search", { exact: true }).fill("hello");
  await page.getByLabel("Replace with").fill("Good day,");
  await page.getByText("2 matches").waitFor();
  await page.getByRole("button", { name: "Replace all" }).click();
  await node(page, "tpl-1").getByText("Good day, {{in-1}}").waitFor();
  await page.getByRole("button", { name: "Close panel" }).click();
  await page.keyboard.press("s");
  await page
    .getByRole("textbox", { name: "Text of the note, Markdown" })
    .fill("**Ask** the [desk](https://example.com)");
  await page.keyboard.press("Escape");
  await page.locator(".sticky strong").getByText("Ask").waitFor();
  await checkBothLooks(page, "editor");
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.getByRole("button", { name: "Add node" }).click();
  await checkBothLooks(page, "palette");
});
