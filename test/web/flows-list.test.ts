import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { failing } from "../api/tenant.ts";
import { address, signedIn, text } from "./support/console.ts";
import { browser, tenant, useConsole } from "./support/shared-console.ts";

useConsole();
let directory = "";
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "millrace-flows-"));
});
afterAll(() => rmSync(directory, { recursive: true }));

const draftOf = async (page: Page): Promise<{ name: string; nodes: Array<{ id: string }>; big?: unknown }> => {
  const [, id] = /flows\/([^/]+)\/edit/.exec(page.url()) ?? [];
  return (await tenant.secret.get(`/v2/projects/${id}/draft`)).body.flow;
};
const names = (page: Page): Promise<string[]> =>
  page.getByRole("region", { name: "Flows" }).locator("[data-row]").allTextContents();

describe("the list of flows", () => {
  it("explains what a flow is, and creates flows from nothing, an example, a file and the clipboard", async () => {
    const { page, context } = await signedIn(browser, tenant, "editor", "/flows");
    await text(page, "No flows yet");
    await page.getByRole("button", { name: "Create flow" }).last().click();
    expect(page.url()).toContain("create=empty");
    const dialog = page.getByRole("dialog", { name: "Create flow" });
    const create = dialog.getByRole("button", { name: "Create flow" });
    await create.click();
    await text(page, "Enter a name.");
    await dialog.getByRole("textbox", { name: "Name" }).fill("support/Empty one");
    await create.click();
    await page.waitForURL(/\/edit$/);

    await page.goto(address(tenant, "/flows?in=support&create=example"));
    await create.click();
    await text(page, "Choose an example.");
    const example = dialog.getByRole("radio", { name: /^hello/ });
    await example.waitFor();
    expect(await dialog.getByRole("radio").count()).toBeGreaterThan(10);
    expect(await dialog.locator(".flow-picture .picture-node").count()).toBeGreaterThan(30);
    await example.check({ force: true });
    expect(await dialog.getByRole("textbox", { name: "Name" }).inputValue()).toBe("support/hello");
    await create.click();
    await page.waitForURL(/\/edit$/);
    expect((await draftOf(page)).nodes.map(({ id }) => id)).toEqual(["in-0", "tpl-0", "out-0"]);

    // Digits that parsing in the browser would change reach the API as they are.
    const flow =
      '{"schema_version":1,"name":"From a file","nodes":[{"id":"in-0","type":"input"}],"edges":[],"big":9007199254740993}';
    writeFileSync(join(directory, "flow.json"), flow);
    writeFileSync(join(directory, "wrong.json"), '{"nodes": 1}');
    await page.goto(address(tenant, "/flows?create=file"));
    await dialog.getByLabel("File").setInputFiles(join(directory, "wrong.json"));
    await text(page, "it has no list `nodes`");
    await dialog.getByLabel("File").setInputFiles(join(directory, "flow.json"));
    await expect.poll(() => dialog.getByRole("textbox", { name: "Name" }).inputValue()).toBe("From a file");
    await create.click();
    await page.waitForURL(/\/edit$/);
    expect((await draftOf(page)).big).toBe("9007199254740993");

    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.goto(address(tenant, "/flows?create=paste"));
    await dialog.getByLabel("Flow (JSON)").fill("{");
    await text(page, "This is not valid JSON");
    // The browser reads the clipboard later than the click, and pages of other tests share the clipboard.
    const pasted = '{"flow": {"name": "Pasted", "nodes": []}}';
    const paste = async (): Promise<string> => {
      await page.evaluate(`navigator.clipboard.writeText(${JSON.stringify(pasted)})`);
      await dialog.getByRole("button", { name: "Paste from clipboard" }).click();
      return dialog.getByLabel("Flow (JSON)").inputValue();
    };
    await expect.poll(paste).toContain("Pasted");
    await dialog.getByRole("textbox", { name: "Name" }).fill("Pasted flow");
    await create.click();
    await page.waitForURL(/\/edit$/);
    expect((await draftOf(page)).name).toBe("Pasted");

    await page.goto(address(tenant, "/flows"));
    await page.getByRole("region", { name: "Flows" }).waitFor();
    await expect.poll(() => names(page)).toEqual(["support", "From a file", "Pasted flow"]);
    await page.getByRole("button", { name: "Name" }).click();
    await expect.poll(() => names(page)).toEqual(["support", "Pasted flow", "From a file"]);
    await page.getByRole("button", { name: "Draft" }).click();
    await expect.poll(() => names(page)).toEqual(["support", "Pasted flow", "From a file"]);
    await page.getByRole("button", { name: "Draft" }).click();
    await expect.poll(() => names(page)).toEqual(["support", "From a file", "Pasted flow"]);
    expect(page.url()).toContain("sort=draft&order=asc");
    await page.getByRole("link", { name: "support" }).click();
    await expect.poll(() => names(page)).toEqual(["Empty one", "hello"]);
    await page.getByRole("navigation", { name: "Folders" }).getByRole("link", { name: "All flows" }).click();
    await page.getByRole("searchbox", { name: "Search flows" }).fill("one supp");
    await expect.poll(() => names(page)).toEqual(["support/Empty one"]);
    expect(page.url()).toContain("q=one+supp");
  });

  it("shows draft, last run, runs a day and owner of each flow, and offers a viewer no creation", async () => {
    const project_id = await tenant.deploy(failing());
    await tenant.secret.patch(`/v2/projects/${project_id}`, { name: "a<b>/\u202Eturned" });
    for (let at = 0; at < 2; at++) await tenant.secret.post("/v2/runs", { project_id, inputs: {}, mode: "sync" });
    const { page } = await signedIn(browser, tenant, "viewer", "/flows?in=a%3Cb%3E");
    const row = page.getByRole("row").filter({ hasText: "turned" });
    await row.getByText("Failed").waitFor();
    await row.getByRole("img", { name: "2 runs in 14 days, 2 failed" }).waitFor();
    await row.getByRole("link", { name: "Version 1" }).waitFor();
    expect(await row.locator("[data-row]").textContent()).toContain("U+202E");
    expect(await page.getByRole("button", { name: "Create flow" }).count()).toBe(0);
    await page.goto(address(tenant, "/flows?create=empty"));
    await page.getByRole("region", { name: "Flows" }).waitFor();
    expect(await page.getByRole("dialog").count()).toBe(0);
  });
});
