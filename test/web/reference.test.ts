import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { echo } from "../api/tenant.ts";
import { document, operations } from "../api/http/conformance.ts";
import { checkBothLooks, openWindow, signedIn } from "./support/console.ts";
import { pausedRun } from "./support/pauses.ts";
import { browser, tenant, useConsole } from "./support/shared-console.ts";

useConsole();

const { info, tags, paths, components } = document as unknown as {
  info: { title: string; version: string };
  tags: Array<{ name: string }>;
  paths: Record<string, Record<string, { responses: object }>>;
  components: { schemas: Record<string, { properties: object }> };
};
const docs = (hash = ""): string => `${tenant.target.url}/docs${hash}`;
const title = (page: Page, name: string): Promise<void> => page.getByRole("heading", { name, level: 1 }).waitFor();
const answer = (page: Page) => page.getByRole("region", { name: "Response", exact: true });

describe("the API reference", () => {
  it("loads without sign-in, and requests only the document", async () => {
    const { page } = await openWindow(browser);
    const asked: string[] = [];
    page.on("request", (request) => {
      const url = new URL(request.url());
      asked.push(url.origin === tenant.target.url ? url.pathname : request.url());
    });
    await page.goto(docs());
    await title(page, `${info.title} version ${info.version}`);
    const list = page.getByRole("navigation", { name: "Operations" });
    expect(await list.getByRole("link").count()).toBe(operations.length);
    for (const { name } of tags) expect(await list.getByRole("region", { name, exact: true }).count()).toBe(1);
    expect(asked.filter((path) => !path.startsWith("/console/assets/")).toSorted()).toEqual(["/docs", "/openapi.json"]);
    // The reference must not load the console's other pages.
    expect(asked.filter((path) => /home-page|runs-page/.test(path))).toEqual([]);
  });

  it("can be searched by keyboard, and has a URL for each operation that back and reload keep", async () => {
    const { page } = await openWindow(browser);
    await page.goto(docs());
    const search = page.getByRole("searchbox", { name: "Search operations" });
    await search.waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("run a flow v2");
    await page
      .getByRole("status")
      .getByText(/^\d+ operations/)
      .waitFor();
    await page.keyboard.press("Control+a");
    await page.keyboard.type("createRun");
    await page.keyboard.press("Enter");
    await title(page, "Run a flow");
    expect(new URL(page.url()).hash).toBe("#createRun");
    await page.keyboard.press("/");
    await page.keyboard.press("Control+a");
    await page.keyboard.type("cancel a run");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("j");
    await page.keyboard.press("k");
    await page.keyboard.press("Enter");
    await page.waitForFunction("location.hash !== '#createRun'");
    await page.goBack();
    await title(page, "Run a flow");
    await page.reload();
    await title(page, "Run a flow");
    await page.goto(docs("#noSuchThing"));
    await page.getByText("Operation noSuchThing not found.").waitFor();
  });

  it("shows parameters, the body schema level by level, and every response with its example", async () => {
    const { page } = await openWindow(browser);
    await page.goto(docs("#createRun"));
    await title(page, "Run a flow");
    const body = page.getByRole("region", { name: "Body" });
    for (const name of Object.keys(components.schemas["RunCreate"]?.properties ?? {}))
      await body.getByText(name, { exact: true }).first().waitFor();
    const answers = page.getByRole("region", { name: "Responses", exact: true });
    expect(await answers.locator("summary > strong").allTextContents()).toEqual(
      Object.keys(paths["/v2/runs"]?.["post"]?.responses ?? {}),
    );
    const pauses = answers.getByText("pauses", { exact: true }).first();
    expect(await answers.getByText("required_approvals", { exact: true }).count()).toBe(0);
    await pauses.click();
    await answers.getByText("required_approvals", { exact: true }).first().waitFor();
    await answers.getByText("Example", { exact: true }).first().click();
    await answers.getByText('"out-0": "Hello, Ada."').waitFor();
  });

  it("sends a request with the user's session, and shows status, time and headers", async () => {
    const { page, email } = await signedIn(browser, tenant, "viewer");
    await page.getByRole("navigation").getByRole("link", { name: "API reference" }).click();
    await page.getByRole("searchbox", { name: "Search operations" }).waitFor();
    await page.goto(docs("#getMe"));
    await page.getByText(`Leave empty to send the request as ${email}.`, { exact: false }).waitFor();
    await page.getByRole("button", { name: "Send" }).click();
    await answer(page).getByText("200 OK").waitFor();
    await answer(page)
      .getByText(/^\d+ ms · \d+ bytes$/)
      .waitFor();
    await answer(page).getByRole("region", { name: "Response body" }).getByText(email).waitFor();
    await answer(page)
      .getByText(/^Headers/)
      .click();
    await answer(page).getByText("x-request-id", { exact: true }).waitFor();
    // The API refuses what the role may not do, and the page shows the error.
    await page.goto(docs("#createProject"));
    await title(page, "Create a project");
    await page.getByRole("button", { name: "Send" }).click();
    await answer(page).getByText(/^403/).waitFor();
  });

  it("sends inference requests with a pasted key, which it neither stores nor puts into a snippet", async () => {
    const project_id = await tenant.deploy(echo());
    const { page, context } = await openWindow(browser);
    await page.goto(docs("#runDeployedFlow"));
    const key = page.getByLabel("API key or token");
    await key.fill(tenant.publicKey);
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText("Fill in org_id, flow_id first.").waitFor();
    await page.getByLabel("org_id").fill(tenant.org_id);
    await page.getByLabel("flow_id", { exact: true }).fill(project_id);
    await page.getByLabel("Body (JSON)").fill('{"in-0": "from the reference", "flag": true}');
    const code = page.getByRole("region", { name: /snippet$/ });
    const inEach: Record<string, string> = {
      curl: '-H "Authorization: Bearer $API_KEY"',
      JavaScript: '"in-0": "from the reference"',
      Python: '"flag": True,',
    };
    for (const [language, part] of Object.entries(inEach)) {
      await page.getByRole("button", { name: language, exact: true }).click();
      expect(await code.textContent()).toContain(part);
      expect(await code.textContent()).toContain(project_id);
      expect(await code.textContent()).not.toContain(tenant.publicKey);
    }
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.getByTitle("Copy Python snippet").click();
    await expect.poll(() => page.evaluate("navigator.clipboard.readText()")).toBe(await code.textContent());
    await page.getByRole("button", { name: "Send" }).click();
    await answer(page).getByText("200 OK").waitFor();
    await answer(page).getByText('"out-0": "from the reference"').waitFor();
    const kept = await page.evaluate(
      "JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, history.state])",
    );
    expect(kept).not.toContain(tenant.publicKey);
    // The key is kept in memory: it survives a change of operation, but not a reload.
    await page.evaluate("location.hash = 'getDeployedFlowRun'");
    await expect.poll(() => key.inputValue()).toBe(tenant.publicKey);
    await page.reload();
    await expect.poll(() => key.inputValue()).toBe("");
  });

  it("shows a stream as it arrives, until it is stopped", async () => {
    const { page } = await signedIn(browser, tenant, "viewer");
    const { run_id } = await pausedRun(tenant);
    await page.goto(docs("#getRun"));
    await page.getByLabel("run_id", { exact: true }).fill(run_id);
    await page.getByText(/^Optional parameters/).click();
    await page.getByLabel("Accept").selectOption("text/event-stream");
    await page.getByRole("button", { name: "Send" }).click();
    await answer(page).getByText("200 OK").waitFor();
    await answer(page)
      .getByText(/^Streaming/)
      .waitFor();
    await page.getByRole("button", { name: "Stop" }).click();
    await expect.poll(() => page.getByRole("button", { name: "Stop" }).count()).toBe(0);
  });

  it("has no axe violation, light and wide, dark and narrow", async () => {
    const { page } = await openWindow(browser);
    for (const hash of ["", "#createRun", "#listRuns", "#createSkill", "#createToken"]) {
      await page.goto(docs(hash));
      await page.reload();
      await page.getByRole("heading", { level: 1 }).waitFor();
      await checkBothLooks(page, hash);
    }
    // In a wide window the list is beside the operation.
    await page.setViewportSize({ width: 360, height: 800 });
    await page.getByRole("button", { name: "Show operations" }).click();
    await page
      .getByRole("link", { name: /^GET .*readiness/i })
      .first()
      .click();
    await page.getByRole("button", { name: "Show operations" }).waitFor();
  });
});
