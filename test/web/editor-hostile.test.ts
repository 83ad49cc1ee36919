import { expect, it } from "vitest";
import { signedIn } from "./support/console.ts";
import { editorOf, newFlow, node } from "./support/editor.ts";
import { browser, tenant, useConsole } from "./support/shared-console.ts";

useConsole();

it("is not harmed by hostile names, notes, identifiers and shapes", async () => {
  const hostile = "<img src=x onerror=alert(1)>\u202e{{constructor}}";
  const project = await newFlow(tenant, "Hostile", {
    schema_version: 1,
    name: hostile,
    nodes: [
      "no node",
      { id: "in-0", type: "input", name: hostile, notes: hostile },
      { id: "in-0", type: "input" },
      { id: "a/b", type: "template", config: { template: hostile } },
      { id: '["",""]', type: hostile, config: [1] },
      { id: "__proto__", type: "constructor", name: 7 },
      { id: "if-0", type: "condition", config: { cases: [{ id: "x" }, { id: "x" }, "y", { id: "<b>" }] } },
      { id: "map-0", type: "map", config: { flow: { nodes: "none", edges: { length: 3 } } } },
    ],
    edges: [
      { source: "in-0", target: "if-0" },
      { source: "in-0", target: "if-0" },
      { source: "if-0", source_handle: "gone", target: "a/b" },
      5,
    ],
    ui: {
      positions: { "in-0": { x: "a", y: 1 }, "if-0": { x: 1e308, y: -1e308 } },
      notes: [
        {
          id: "n",
          text: "<script>alert(1)</script> [x](javascript:alert(1)) ![x](https://example.com/x.png)",
          x: 0,
          y: 0,
          width: 200,
          height: 100,
          color: "red;} body { display: none",
        },
        { id: "m" },
      ],
      locked: "all",
    },
  });
  const { page } = await signedIn(
    browser,
    tenant,
    "editor",
    editorOf(project, "?node=__proto__&in=constructor&panel=x"),
  );
  // Two nodes are so far apart that texts are too small to be shown.
  await node(page, "in-0")
    .getByText(/onerror/)
    .first()
    .waitFor({ state: "attached" });
  expect(
    await page.locator(".editor-canvas img, .editor-canvas script, .editor-canvas a[href^='javascript']").count(),
  ).toBe(0);
  await page.getByRole("button", { name: /error/ }).click();
  await page.getByRole("list", { name: "Problems" }).waitFor();
  await page.getByRole("button", { name: "Tidy up" }).click();
  await page.keyboard.press("Control+a");
  await page.keyboard.press("Control+d");
  await page.keyboard.press("Control+z");
  await page.keyboard.press("Control+z");
  await page.getByRole("button", { name: "Undo" }).and(page.locator(":disabled")).waitFor();
});
