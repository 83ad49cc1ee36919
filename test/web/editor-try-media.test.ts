import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startModelStub, type ModelStub } from "../../src/dev/model-stub.ts";
import { flow } from "../engine/support.ts";
import { checkBothLooks, signedIn } from "./support/console.ts";
import { draftOf, saved } from "./support/editor.ts";
import { browser, tenant, useConsole } from "./support/shared-console.ts";

useConsole();
let models: ModelStub;
let page: Page;
let project_id: string;

const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

beforeAll(async () => {
  models = await startModelStub();
  const credential = { api_key: "sk-media", base_url: `${models.url}/v1` };
  const connection = { name: "Media models", provider_id: "openai_compatible", scheme: "api_key", credential };
  const { body } = await tenant.secret.post("/v2/connections", connection);
  const model = { model: "m", connection_id: body.connection_id, required: false };
  const definition = flow(
    [
      { id: "in-0", type: "input", name: "Question" },
      { id: "doc-0", type: "files", name: "Papers" },
      { id: "img-0", type: "image", name: "Photo", config: model },
      { id: "rec-0", type: "audio", name: "Memo", config: model },
      { id: "out-0", type: "output", config: { value: "{{in-0}}|{{doc-0}}|{{img-0}}|{{rec-0}}" } },
    ],
    ["in-0>out-0", "doc-0>out-0", "img-0>out-0", "rec-0>out-0"],
  );
  project_id = await tenant.deploy(definition);
  ({ page } = await signedIn(browser, tenant, "editor", `/flows/${project_id}/edit?panel=try`));
  await page.locator("[data-input=in-0]").waitFor();
});
afterAll(() => models.close());

const file = (name: string, mimeType: string, buffer: Buffer) => ({ name, mimeType, buffer });
const choose = (id: string, ...files: ReturnType<typeof file>[]): Promise<void> =>
  page.locator(`input[data-input=${id}]`).setInputFiles(files);
const result = () => page.getByRole("region", { name: "Result" });

it("uploads documents to the draft, and removes them", async () => {
  await choose("doc-0", file("paper.txt", "text/plain", Buffer.from("Zebras are striped.")));
  const listed = page.getByRole("list", { name: "Uploaded to Papers" }).getByRole("listitem");
  await listed.filter({ hasText: "paper.txt" }).getByText("Indexed").waitFor();
  await choose("doc-0", file("harm.exe", "application/octet-stream", Buffer.from("MZ\0\0")));
  await page.getByRole("form", { name: "Inputs" }).getByRole("alert").waitFor();
  await choose("doc-0", file("spare.txt", "text/plain", Buffer.from("Spare.")));
  await page.getByRole("button", { name: "Remove spare.txt" }).click();
  await expect.poll(() => listed.count()).toBe(1);
});

it("takes a picture and shows it, and says when it cannot", async () => {
  await choose("img-0", file("broken.png", "image/png", Buffer.from("no picture")));
  await page.getByText("This browser cannot show the picture.").waitFor();
  await page.locator("button[data-input=img-0]").click();
  await choose("img-0", file("dot.png", "image/png", Buffer.from(PNG, "base64")));
  await page.getByRole("img", { name: "The chosen picture" }).waitFor();
  const isDrawn = `[...document.querySelector(".try-picture").getContext("2d").getImageData(0, 0, 1, 1).data].some(Boolean)`;
  await expect.poll(() => page.evaluate(isDrawn), { timeout: 10_000 }).toBe(true);
});

it("records from the microphone and plays the recording", async () => {
  await page.getByRole("button", { name: "Record" }).click();
  await page.getByRole("button", { name: "Stop recording" }).waitFor();
  // As long as it plays, "Stop" can be pressed.
  await page.waitForTimeout(3000);
  await page.getByRole("button", { name: "Stop recording" }).click();
  await page.getByRole("button", { name: "Play" }).click();
  await page.getByRole("button", { name: "Stop" }).click();
  await page.getByRole("button", { name: "Play" }).waitFor();
  expect(await page.getByText("This browser cannot play the recording.").count()).toBe(0);
  await checkBothLooks(page, "a try with a picture and a recording");
});

it("runs with all of them, and keeps the try as an example and as a row of a dataset", async () => {
  models.answer(() => ({ text: ["a dot"] }));
  await page.locator("[data-input=in-0]").fill("What is it?");
  await page.getByRole("button", { name: "Run draft" }).click();
  await result().getByRole("status").getByText("Completed").waitFor();
  await page
    .getByRole("group", { name: "Value of out-0" })
    .getByText(/What is it\?\|Zebras are striped\.\|a dot\|a dot/)
    .waitFor();
  const heard = models.calls.find(({ path }) => path === "/v1/audio/transcriptions")?.body as {
    recording: { type: string; size: number };
  };
  expect(heard.recording.type).toContain("webm");
  expect(heard.recording.size).toBeGreaterThan(100);

  await page.getByRole("button", { name: "Save as example…" }).click();
  await page.getByLabel("Name of the example").fill("A dot");
  await page.getByRole("button", { name: "Save example" }).click();
  await saved(page);
  const { examples } = await draftOf(tenant, project_id);
  expect(examples).toMatchObject([{ name: "A dot", inputs: { "in-0": "What is it?", "img-0": PNG } }]);

  await page.getByRole("button", { name: "Save as dataset row…" }).click();
  const dialog = page.getByRole("dialog", { name: "Add run to dataset" });
  await dialog.getByLabel("Dataset", { exact: true }).selectOption("New dataset");
  await dialog.getByLabel("New dataset name").fill("Dots");
  await dialog.getByRole("button", { name: "Add row" }).click();
  await page.getByRole("dialog", { name: "Row added" }).getByText("Close").click();
  const { body: datasets } = await tenant.secret.get("/v2/evals/datasets");
  const { dataset_id } = datasets.data.find(({ name }: { name: string }) => name === "Dots");
  const { body: rows } = await tenant.secret.get(`/v2/evals/datasets/${dataset_id}/rows`);
  expect(rows.data).toMatchObject([
    {
      inputs: { "in-0": "What is it?", "img-0": PNG },
      source: { type: "run" },
      expected_outputs: { "out-0": expect.stringContaining("a dot") },
    },
  ]);
});
