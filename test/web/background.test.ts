import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { doJob, experimentPath, makeDataset, makeEvaluator, makeExperiment, rowsPath } from "../api/evals/evals.ts";
import { create } from "../api/knowledge/bases.ts";
import { settled } from "../api/knowledge/knowledge-bases.ts";
import { openTenant } from "../api/tenant.ts";
import { flow } from "../engine/support.ts";
import { startHttpTarget, type HttpTarget } from "../support/http-target.ts";
import { address, checkBothLooks, signedIn } from "./support/console.ts";
import { browser, tenant, useConsole } from "./support/shared-console.ts";

useConsole();
let target: HttpTarget;
beforeAll(async () => {
  target = await startHttpTarget();
});
afterAll(() => target.close());

/** A knowledge base with an indexed document, and a document whose URL returns 404. */
async function openBase(name: string): Promise<{ id: string; gone: string }> {
  target.on("/gone", (_, response) => void response.writeHead(404).end("no"));
  const { path, body: base } = await create(tenant, { name });
  const id: string = base.knowledge_base_id;
  const added = [{ name: "a.md", text: "Water runs down." }, { url: `${target.url}/gone` }];
  const resources: string[] = [];
  for (const each of added) resources.push((await tenant.secret.post(`${path}/resources`, each)).body.resource_id);
  for (const each of resources) await settled(tenant, id, each);
  return { id, gone: resources[1] ?? "" };
}

describe("the background work page", () => {
  it("links to each kind of background work, with its progress", async () => {
    const tenant = await openTenant();
    const { body: base } = await tenant.secret.post("/v2/knowledge-bases", { name: "Handbook" });
    const resources = `/v2/knowledge-bases/${base.knowledge_base_id}/resources`;
    await tenant.secret.post(resources, { name: "a.md", text: "Water runs down." });
    const { body: job } = await tenant.secret.post("/v2/run-jobs", { action: "replay", filter: { tag: "none" } });
    expect(job.job_id).toBeTypeOf("string");
    const { page } = await signedIn(browser, tenant, "viewer", "/background");
    const bases = page.getByRole("region", { name: "Knowledge bases", exact: true }).locator("tbody tr");
    const figures = bases.filter({ hasText: "Handbook" }).locator("td.number");
    // One document, none waiting, none failed.
    await expect.poll(() => figures.allTextContents(), { timeout: 40_000 }).toEqual(["1", "0", "0"]);
    await page.getByRole("region", { name: "Bulk run jobs", exact: true }).getByText("0 of 0").waitFor();
    await page.getByRole("region", { name: "Experiments, newest first" }).getByText("No experiments yet").waitFor();
  });

  it("links to failed documents, which show the reason and the fix", async () => {
    const { id, gone } = await openBase("Handbook of mills");
    const { page } = await signedIn(browser, tenant, "viewer", "/background");
    await page.getByRole("link", { name: "1 in Handbook of mills" }).click();
    await page.waitForURL(address(tenant, `/background/knowledge-bases/${id}?documents=failed`));
    const rows = page.getByRole("region", { name: "Documents", exact: true }).locator("tbody tr");
    await rows.getByText("Failed").waitFor();
    // The code appears twice, for narrow and wide windows.
    await rows.getByText("http_status").last().waitFor();
    expect(await rows.count()).toBe(1);
    // Actions that a viewer may not take are not offered.
    expect(await page.getByRole("button", { name: "Sync now" }).count()).toBe(0);
    await rows.getByRole("link").click();
    await page.waitForURL(new RegExp(`document=${gone}`));
    const dialog = page.getByRole("dialog", { name: "Document" });
    await dialog.getByText("http_status").waitFor();
    await dialog.getByText("To retry, choose Sync now").waitFor();
    await dialog.getByText(`${target.url}/gone`).first().waitFor();
    await checkBothLooks(page);
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    const which = page.getByRole("combobox", { name: "Document state" });
    await which.selectOption({ label: "Waiting" });
    await page.getByText("No documents match these filters").waitFor();
    await which.selectOption({ label: "All states" });
    await expect.poll(() => rows.count()).toBe(2);
    await checkBothLooks(page);
  });

  it("starts syncs, which retry failed documents, and cancels them", async () => {
    const { id } = await openBase("Handbook of rivers");
    const path = `/background/knowledge-bases/${id}?documents=failed`;
    const { page } = await signedIn(browser, tenant, "editor", path);
    const syncs = page.getByRole("region", { name: "Syncs", exact: true }).locator("tbody tr");
    const syncNow = page.getByRole("button", { name: "Sync now" });
    await page.getByText("No syncs yet").waitFor();
    await syncNow.click();
    await syncs.first().getByText("Completed").waitFor();
    await syncs
      .first()
      .getByRole("link", { name: /^1 failed/ })
      .click();
    const dialog = page.getByRole("dialog", { name: "Documents this sync could not read" });
    await dialog
      .getByRole("listitem")
      .filter({ hasText: `${target.url}/gone` })
      .getByText("http_status")
      .waitFor();
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });

    // The URL now responds, but only after the test has seen the sync running.
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    target.on("/gone", (_, response) => {
      void held.then(() => response.writeHead(200, { "content-type": "text/plain" }).end("It is back."));
    });
    await syncNow.click();
    await page.getByText("A sync is running.").waitFor();
    await syncs.first().getByRole("button", { name: "Cancel…" }).waitFor();
    // The button is also disabled after a reload, not only after it was pressed.
    await page.reload();
    await syncs.first().getByRole("button", { name: "Cancel…" }).waitFor();
    await page.getByText("A sync is running.").waitFor();
    expect(await syncNow.isDisabled()).toBe(true);
    release();
    await page.getByText("No documents match these filters").waitFor();
    await syncs.first().getByText("Completed").waitFor();

    target.on("/gone", () => undefined);
    await expect.poll(() => syncNow.isEnabled()).toBe(true);
    await syncNow.click();
    await syncs.first().getByRole("button", { name: "Cancel…" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Cancel sync" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await syncs.first().getByText("Cancelled").waitFor();
  });
});

describe("the experiment page", () => {
  /** A flow that answers from this template; one question fails. */
  const answering = (template: string) =>
    flow(
      [
        { id: "in-0", type: "input" },
        { id: "guard-0", type: "guard", config: { check: 'nodes["in-0"] != "fail"', message: "It is not allowed" } },
        { id: "out-0", type: "output", config: { value: template } },
      ],
      ["in-0>guard-0", "guard-0>out-0"],
    );

  it("shows what regressed against the baseline, with both runs, and why rows have no score", async () => {
    const source = "function main() { throw new Error('There is no scale') }";
    const right = await makeEvaluator(tenant, { name: "is right", type: "exact_match" });
    const broken = await makeEvaluator(tenant, { name: "is measured", type: "code", config: { source } });
    const dataset_id = await makeDataset(tenant);
    const rows = ["ab", "fail", "CD"].map((text) => ({
      external_id: `ticket ${text}`,
      inputs: { "in-0": text },
      expected_outputs: { "out-0": text.toUpperCase() },
    }));
    await tenant.secret.post(rowsPath(dataset_id), { rows });
    const project_id = await tenant.deploy(answering("{{in-0 | upcase}}"));
    const changed = { flow: answering("{{in-0}}") };
    expect((await tenant.secret.post(`/v2/projects/${project_id}/versions`, changed)).status).toBe(201);
    const done = async (more: Record<string, unknown>): Promise<string> => {
      const id = await makeExperiment(tenant, { project_id, dataset_id, evaluator_ids: [right, broken], ...more });
      await doJob(tenant, id, { kind: "run" });
      return id;
    };
    const baseline = await done({ name: "Before", flow_version: 1 });
    const gates = [{ metric: "pass_rate", evaluator_id: right, op: "gte", value: 0, vs: "baseline" }];
    const id = await done({ name: "After", flow_version: 2, baseline_experiment_id: baseline, gates });

    const runOf = async (of: string): Promise<string> =>
      (await tenant.secret.get(`${experimentPath(of)}/rows`, { query: { order: "asc" } })).body.data[0].run_id;

    const { page } = await signedIn(browser, tenant, "viewer", "/background");
    const listed = page.getByRole("region", { name: "Experiments", exact: true }).locator("tbody tr");
    await listed.filter({ hasText: "After" }).getByText("Failed").last().waitFor();
    await page.getByRole("link", { name: "After", exact: true }).click();
    await page.waitForURL(address(tenant, `/background/experiments/${id}`));
    const table = (name: string) => page.getByRole("region", { name, exact: true }).locator("tbody tr");
    const gate = table("Gate results").first();
    await gate.getByText("Not met").waitFor();
    // The gate fails whatever the missing score of the baseline would have been.
    expect(await gate.innerText()).toMatch(/Pass rate of is right vs\. baseline at least 0%\s+-66\.7%/);
    // Of the rows with both scores one has regressed, and the failed one has no score.
    expect(await table("Scores by evaluator").filter({ hasText: "is right" }).locator("td").allInnerTexts()).toEqual([
      "is right",
      "0.5",
      "50%",
      "1",
      "-0.5",
      "0",
      "1",
    ]);
    const worse = table("Changed scores");
    await worse.getByText("Regressed").waitFor();
    expect(await worse.count()).toBe(1);
    const one = table("Experiment rows").filter({ hasText: "ticket ab" });
    await one.getByText("no, failed").waitFor();
    await one.getByText("(baseline: yes, passed)").waitFor();
    await one.getByText("There is no scale").waitFor();
    await checkBothLooks(page);
    await page.getByRole("combobox", { name: "Row state" }).selectOption({ label: "Failed" });
    await expect.poll(() => table("Experiment rows").count()).toBe(1);
    await table("Experiment rows").getByText("It is not allowed").waitFor();
    await worse.getByRole("link").click();
    await page.getByRole("heading", { name: "Compare two runs" }).waitFor();
    // The baseline's run comes first.
    const [before, after] = await Promise.all([runOf(baseline), runOf(id)]);
    expect(page.url()).toBe(address(tenant, `/runs/${before}/compare/${after}`));
  });
});
