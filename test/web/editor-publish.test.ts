import { expect, it } from "vitest";
import { flow } from "../engine/support.ts";
import { signedIn } from "./support/console.ts";
import { draftOf, editorOf, newFlow, node, nodeIds, saved } from "./support/editor.ts";
import { browser, tenant, useConsole } from "./support/shared-console.ts";

useConsole();

it("publishes with notes, and does not offer it while an error stands, which the list of problems leads to", async () => {
  const project = await newFlow(
    tenant,
    "Greeting",
    flow(
      [
        { id: "in-0", type: "input" },
        { id: "out-0", type: "output" },
      ],
      ["in-0>out-0"],
    ),
  );
  const { page } = await signedIn(browser, tenant, "editor", editorOf(project));
  const publish = page.getByRole("button", { name: "Publish", exact: true });
  const dialog = page.getByRole("dialog", { name: "Publish" });
  await node(page, "in-0").waitFor();
  await publish.click();
  await dialog.getByLabel("Notes").fill("The first one");
  await dialog.getByRole("button", { name: "Publish" }).click();
  await page
    .getByRole("dialog", { name: "Version 1 is published" })
    .getByRole("button", { name: "Continue editing" })
    .click();
  await page.getByText("Version 1, no draft").waitFor();
  const { body } = await tenant.secret.get(`/v2/projects/${project}/versions`);
  expect(body.data.map(({ version, notes }: { version: number; notes: string }) => [version, notes])).toEqual([
    [1, "The first one"],
  ]);
  // A template without a text is an error.
  await node(page, "in-0").locator(".step-title").click();
  await page.keyboard.press("n");
  await page.keyboard.type("template");
  await page.keyboard.press("Enter");
  await node(page, "tpl-0").waitFor();
  await page.getByRole("button", { name: /^1 error/ }).waitFor();
  await publish.click();
  await dialog.getByText("An error keeps this flow from being published.").waitFor();
  expect(await dialog.getByRole("button", { name: "Publish", exact: true }).count()).toBe(0);
  await dialog.getByRole("button", { name: "Show problems" }).click();
  await page.getByRole("list", { name: "Problems" }).getByRole("button").first().click();
  await page.waitForURL(/node=tpl-0/);
  // The JSON view and the canvas are one; a syntax error leaves the canvas as it is.
  await page.getByText("More", { exact: true }).click();
  await page.getByRole("button", { name: "JSON" }).click();
  const json = page.getByRole("textbox", { name: "Flow" });
  await saved(page);
  const text = JSON.stringify(await draftOf(tenant, project), null, 2);
  await json.fill(`${text.slice(0, -2)},`);
  await page.getByText("The canvas keeps the last valid flow.").waitFor();
  expect(await nodeIds(page)).toEqual(["in-0", "out-0", "tpl-0"]);
  await json.fill(text.replace('"type": "template"', '"type": "template", "config": { "template": "Hello" }'));
  await page.getByRole("button", { name: /^\d warning|No problems/ }).waitFor();
  await node(page, "tpl-0").getByText("Hello").waitFor();
  await saved(page);
});
