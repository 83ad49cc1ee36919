import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { flow } from "../engine/support.ts";
import { startHttpTarget, type HttpTarget } from "../support/http-target.ts";
import { checkBothLooks, signedIn } from "./support/console.ts";
import { browser, tenant, useConsole } from "./support/shared-console.ts";

useConsole();
let target: HttpTarget;
beforeAll(async () => {
  target = await startHttpTarget();
});
afterAll(() => target.close());

/** A flow that greets, calls a service, and asks a person. */
const greeting = () =>
  flow(
    [
      { id: "in-0", type: "input", name: "Name" },
      { id: "tpl-0", type: "template", config: { template: "Hello {{in-0}}" } },
      { id: "http-0", type: "http", config: { method: "GET", url: `${target.url}/held` } },
      { id: "tpl-1", type: "template", config: { template: "{{tpl-0}}, status {{http-0.status}}" } },
      { id: "approval-0", type: "approval", config: { message: "Send **{{tpl-1}}**?" } },
      { id: "out-0", type: "output", config: { value: "{{tpl-1}}. {{approval-0.action}}" } },
    ],
    ["in-0>tpl-0", "tpl-0>http-0", "http-0>tpl-1", "tpl-1>approval-0", "approval-0:approve>out-0"],
  );

async function openEditor(definition: object, search = "?panel=try"): Promise<{ page: Page; project_id: string }> {
  const project_id = await tenant.deploy(definition as never);
  const { page } = await signedIn(browser, tenant, "editor", `/flows/${project_id}/edit${search}`);
  await page.getByRole("button", { name: "Run draft" }).waitFor();
  return { page, project_id };
}
const onCanvas = (page: Page, id: string) => page.locator(`.react-flow__node[data-id="${id}"]`);
const result = (page: Page) => page.getByRole("region", { name: "Result" });
const shows = (page: Page, state: string) => result(page).getByRole("status").getByText(state).waitFor();

it("runs the draft, shows states and values as they come, and runs parts of it with pinned values", async () => {
  const { page } = await openEditor({ ...greeting(), examples: [{ name: "Ada", inputs: { "in-0": "Ada" } }] });
  const run = page.getByRole("button", { name: "Run draft" });
  const name = page.getByRole("textbox", { name: "Name", exact: true });
  await name.waitFor();
  await run.click();
  await page.getByText("This input is required").waitFor();
  await expect.poll(() => page.locator(":focus").getAttribute("data-input")).toBe("in-0");

  await page.getByLabel("Example", { exact: true }).selectOption("Ada");
  expect(await name.inputValue()).toBe("Ada");
  const release = target.hold("/held");
  await run.click();
  await onCanvas(page, "http-0").getByText("Running").waitFor();
  await onCanvas(page, "tpl-0").getByText("Hello Ada").waitFor();
  release();
  // The approval is decided in the editor.
  await page.getByRole("article", { name: "Approval approval-0" }).getByText("Hello Ada, status 200").waitFor();
  await onCanvas(page, "approval-0").getByText("Paused").waitFor();
  await page.getByRole("button", { name: "Approve" }).click();
  await shows(page, "Completed");
  await page.getByRole("group", { name: "Value of out-0" }).getByText("Hello Ada, status 200. approve").waitFor();
  await checkBothLooks(page, "try");
  await page.setViewportSize({ width: 1400, height: 900 });

  // A pinned node is not executed again.
  await page.getByRole("button", { name: "Pin the value of http-0" }).click();
  await page.getByRole("region", { name: "Pinned values" }).getByRole("button", { name: "Unpin http-0" }).waitFor();
  await name.fill("Bob");
  await onCanvas(page, "tpl-1").click();
  await page.getByRole("button", { name: "Run until tpl-1" }).click();
  await page.getByRole("group", { name: "Value of tpl-1" }).getByText("Hello Bob, status 200").waitFor();
  await shows(page, "Completed");
  await onCanvas(page, "approval-0").getByText("Skipped").waitFor();
  expect(target.hits("/held")).toBe(1);
  await page.getByText("Differences from the try before").click();
  await page
    .getByRole("group", { name: "Differences from the try before" })
    .getByText("Hello Bob, status 200")
    .waitFor();

  // Alone, the node has the last values of the nodes before it.
  await name.fill("Cleo");
  await page.getByRole("button", { name: "Run only tpl-1" }).click();
  await onCanvas(page, "tpl-0")
    .getByText(/pinned · Hello Bob/)
    .waitFor();
  await page.getByRole("group", { name: "Value of tpl-1" }).getByText("Hello Bob, status 200").waitFor();
  await shows(page, "Completed");

  await run.click();
  await shows(page, "Paused");
  await page.getByRole("button", { name: "Cancel run" }).click();
  await shows(page, "Cancelled");
  await page.getByRole("button", { name: "Save as example…" }).click();
  await page.getByLabel("Name of the example").fill("Cleo's");
  await page.getByRole("button", { name: "Save example" }).click();
  expect(await page.getByLabel("Example", { exact: true }).locator("option").allInnerTexts()).toContain("Cleo's");
  await page.getByRole("button", { name: "Unpin http-0" }).click();
  await page.getByRole("region", { name: "Pinned values" }).waitFor({ state: "detached" });
}, 90_000);

it("opens a past run with its values, and leads from an error to its node", async () => {
  const definition = flow(
    [
      { id: "in-0", type: "input" },
      { id: "tpl-0", type: "template", config: { template: "said {{in-0}}" } },
      { id: "guard-0", type: "guard", config: { check: 'nodes["tpl-0"] == "said yes"', message: "It must be yes" } },
      { id: "out-0", type: "output", config: { value: "{{tpl-0}}" } },
    ],
    ["in-0>tpl-0", "tpl-0>guard-0", "guard-0>out-0"],
  );
  const project_id = await tenant.deploy(definition);
  const body = { project_id, inputs: { "in-0": "yes" }, user_id: "ada-1", mode: "sync" };
  const { body: past } = await tenant.secret.post("/v2/runs", body);
  const { page } = await signedIn(browser, tenant, "editor", `/runs/${past.run_id}`);
  await page.getByRole("link", { name: "Open in editor with these values" }).click();
  await page.getByRole("button", { name: "Unpin tpl-0" }).waitFor();
  expect(await page.getByRole("textbox", { name: "in-0", exact: true }).inputValue()).toBe("yes");
  await onCanvas(page, "tpl-0").getByText("said yes").waitFor();
  expect(new URL(page.url()).searchParams.get("values")).toBe(past.run_id);

  await page.getByRole("button", { name: "Unpin in-0" }).click();
  await page.getByRole("button", { name: "Unpin guard-0" }).click();
  await page.getByRole("textbox", { name: "in-0", exact: true }).fill("no");
  await page.getByRole("button", { name: "Run draft" }).click();
  await page.getByRole("group", { name: "Value of out-0" }).getByText("said yes").waitFor();
  await shows(page, "Completed");
  const sources = await tenant.withDatabase((database) =>
    database.org(tenant.org_id, (db) =>
      db.column<string>("select source_run_id from run_pins join runs using (run_id) where project_id = $1::uuid", [
        project_id,
      ]),
    ),
  );
  expect(sources).toEqual([past.run_id]);

  await page.getByRole("button", { name: "Unpin all" }).click();
  await page.getByRole("button", { name: "Run draft" }).click();
  await page.getByText("It must be yes").waitFor();
  await page.getByRole("button", { name: "Go to guard-0" }).click();
  await expect.poll(() => new URL(page.url()).searchParams.get("node")).toBe("guard-0");
}, 60_000);
