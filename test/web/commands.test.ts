import type { BrowserContext, Locator, Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { echo } from "../api/tenant.ts";
import type { Answer } from "../support/client.ts";
import { signedIn } from "./support/console.ts";
import { pausedRun } from "./support/pauses.ts";
import { browser, tenant, useConsole } from "./support/shared-console.ts";

useConsole();

async function endedRun(): Promise<{ run_id: string; project_id: string }> {
  const project_id = await tenant.deploy(echo());
  const { body } = await tenant.secret.post("/v2/runs", { project_id, inputs: { "in-0": "it's" }, mode: "sync" });
  return { run_id: body.run_id, project_id };
}

async function editorAt(path: string): Promise<{ page: Page; context: BrowserContext }> {
  const { page, context } = await signedIn(browser, tenant, "editor", path);
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  return { page, context };
}

/** Sends the copied curl command as a shell would. */
async function sendCopied(page: Page, place: Page | Locator): Promise<Answer> {
  await place.getByRole("button", { name: "Copy as curl" }).click();
  const read = () => page.evaluate<string>("navigator.clipboard.readText()");
  await expect.poll(read).toMatch(/^curl -X POST/);
  const [, url = "", data = ""] =
    /^curl -X POST '([^']+)' -H "Authorization: Bearer \$MILLRACE_KEY" -H "Content-Type: application\/json" -d '(.*)'$/s.exec(
      await read(),
    ) ?? [];
  expect(url.startsWith(tenant.target.url)).toBe(true);
  return tenant.secret.post(url.slice(tenant.target.url.length), JSON.parse(data.replaceAll("'\\''", "'")));
}

describe("the copied curl command", () => {
  it("resumes a run from a node with the edited inputs", async () => {
    const { run_id } = await endedRun();
    const { page } = await editorAt(`/runs/${run_id}?node=out-0`);
    await page.getByRole("button", { name: "Resume from this node…" }).click();
    const dialog = page.getByRole("dialog", { name: "Resume from a node" });
    await dialog.getByLabel("in-0").fill("it's new");
    const { status, body } = await sendCopied(page, dialog);
    expect(status, JSON.stringify(body)).toBe(202);
    expect(body.resumed_from).toMatchObject({ run_id, node_id: "out-0" });
    expect((await tenant.until(body.run_id, "COMPLETED")).outputs).toEqual({ "out-0": "it's new" });
  });

  it("reruns a run", async () => {
    const { run_id, project_id } = await endedRun();
    const { page } = await editorAt(`/runs/${run_id}`);
    await page.getByRole("button", { name: "Rerun…" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("in-0").fill("other");
    const { status, body } = await sendCopied(page, dialog);
    expect(status, JSON.stringify(body)).toBe(201);
    expect(body).toMatchObject({ project_id, inputs: { "in-0": "other" }, resumed_from: null });
  });

  it("reruns all runs that match a filter", async () => {
    const { project_id } = await endedRun();
    const { page } = await editorAt(`/runs?project_id=${project_id}`);
    await page.getByText("All matching runs").click();
    await page.getByRole("button", { name: "Rerun… 1" }).click();
    const { status, body } = await sendCopied(page, page.getByRole("dialog"));
    expect([200, 201, 202], JSON.stringify(body)).toContain(status);
    const runs = () => tenant.secret.get("/v2/runs", { query: { project_id } });
    await expect.poll(async () => (await runs()).body.data.length).toBe(2);
  });

  it("decides an approval with the form's data", async () => {
    const { run_id, pause_id } = await pausedRun(tenant);
    const { page } = await editorAt(`/inbox/${pause_id}`);
    await page.getByLabel("Amount").fill("12");
    const { status, body } = await sendCopied(page, page);
    expect(status, JSON.stringify(body)).toBeLessThan(300);
    expect((await tenant.until(run_id, "COMPLETED")).outputs["out-0"]).toContain('"amount":12');
  });
});
