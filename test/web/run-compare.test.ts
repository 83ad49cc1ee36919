import { beforeAll, expect, it } from "vitest";
import { flow } from "../engine/support.ts";
import { address, overflow, signedIn, violations } from "./support/console.ts";
import { browser, tenant, useConsole } from "./support/shared-console.ts";

useConsole();
let project_id: string;
beforeAll(async () => {
  project_id = await tenant.deploy(
    flow(
      [
        { id: "in-0", type: "input" },
        { id: "same", type: "template", config: { template: "the same for all" } },
        { id: "letter", type: "template", config: { template: "{{same}}\nDear {{in-0}},\nall the best" } },
        { id: "out-0", type: "output" },
      ],
      ["in-0>same", "in-0>letter", "same>letter", "letter>out-0"],
    ),
  );
});

async function run(name: string): Promise<string> {
  const given = { project_id, inputs: { "in-0": name }, mode: "sync", wait_seconds: 30 };
  return (await tenant.secret.post("/v2/runs", given)).body.run_id;
}

it("compares two runs node by node, and shows only values that differ", async () => {
  const [before, after] = [await run("Ada"), await run("Grace")];
  const { page } = await signedIn(browser, tenant, "viewer", `/runs/${after}`);
  await page.getByRole("button", { name: "Compare…" }).click();
  await page
    .getByRole("list", { name: "Runs of the same project" })
    .getByRole("link", { name: before.slice(-6) })
    .click();
  await page.waitForURL(address(tenant, `/runs/${before}/compare/${after}`));
  const outputs = page.getByRole("group", { name: "Differences in outputs" });
  await outputs.locator("ins").getByText("Grace").waitFor();
  const words = async (tag: string) =>
    (await outputs.locator(tag).allTextContents()).map((text) => text.replace(",", ""));
  expect([await words("del"), await words("ins")]).toEqual([["Ada"], ["Grace"]]);
  expect(await outputs.locator("pre").textContent()).toMatch(/the same for all\nDear .*\nall the best$/s);
  await page.getByText("3 of 4 nodes differ.").waitFor();
  const nodes = page.getByRole("list", { name: "Nodes of both runs" });
  await nodes.getByText("letter").click();
  await page
    .getByRole("group", { name: "Differences in output of letter" })
    .locator("ins")
    .getByText("Grace")
    .waitFor();
  expect(await nodes.getByText("unchanged", { exact: true }).count()).toBe(0);
  await page.getByLabel("Show unchanged nodes").check();
  await expect.poll(() => nodes.locator("details").count()).toBe(4);
  expect(await violations(page)).toEqual([]);
  await page.setViewportSize({ width: 360, height: 800 });
  expect(await overflow(page)).toBeLessThanOrEqual(0);
  await page.goto(address(tenant, `/runs/${before}/compare/0197f0a0-0000-7000-8000-000000000000`));
  await page.getByRole("heading", { name: "Run not found" }).waitFor();
});

it("adds a run to a dataset as a row with corrected outputs", async () => {
  const run_id = await run("Ada");
  const { page } = await signedIn(browser, tenant, "editor", `/runs/${run_id}`);
  const dialog = page.getByRole("dialog");
  await page.getByRole("button", { name: "Add to dataset…" }).click();
  await dialog.getByLabel("New dataset name").fill("letters");
  await dialog.getByRole("button", { name: "Add row" }).click();
  await dialog.getByText("This run is now a row of dataset").waitFor();
  await dialog.getByRole("button", { name: "Close", exact: true }).last().click();

  // A second row goes into the dataset that now exists.
  await page.getByRole("button", { name: "Add to dataset…" }).click();
  await dialog.getByLabel("Expected outputs").fill("[]");
  await dialog.getByText("Enter a JSON object.").waitFor();
  await dialog.getByLabel("Expected outputs").fill('{"out-0": {"id": 9007199254740993}}');
  await dialog.getByText("out-0.id: the number 9007199254740993 would lose digits").waitFor();
  expect(await dialog.getByRole("button", { name: "Add row" }).isDisabled()).toBe(true);
  await dialog.getByLabel("Expected outputs").fill('{"out-0": "Dear Ada"}');
  await dialog.getByRole("button", { name: "Add row" }).click();
  await dialog.getByText("This run is now a row of dataset").waitFor();
  const { body } = await tenant.secret.get("/v2/evals/datasets");
  expect(body.data).toMatchObject([{ name: "letters", project_id, row_count: 2 }]);
  const { body: rows } = await tenant.secret.get(`/v2/evals/datasets/${body.data[0].dataset_id}/rows`);
  const letter = "the same for all\nDear Ada,\nall the best";
  expect(rows.data).toMatchObject([
    { inputs: { "in-0": "Ada" }, expected_outputs: { "out-0": "Dear Ada" }, source: { type: "run", run_id } },
    { inputs: { "in-0": "Ada" }, expected_outputs: { "out-0": letter }, source: { type: "run", run_id } },
  ]);
});
