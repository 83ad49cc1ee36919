import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startModelStub, type ModelStub } from "../../src/dev/model-stub.ts";
import { echo, slow } from "../api/tenant.ts";
import { flow } from "../engine/support.ts";
import { signedIn, text, visit } from "./support/console.ts";
import { browser, tenant, useConsole } from "./support/shared-console.ts";

useConsole();
let stub: ModelStub;
beforeAll(async () => {
  stub = await startModelStub();
});
afterAll(() => stub.close());

describe("a run in progress", () => {
  it("shows an agent's text as it is written, and its final answer", async () => {
    const { body } = await tenant.secret.post("/v2/connections", {
      name: "stub",
      provider_id: "openai_compatible",
      scheme: "api_key",
      credential: { api_key: "sk-planted", base_url: `${stub.url}/v1` },
    });
    const pieces = Array.from({ length: 12 }, (_, at) => `word${at} `);
    stub.answer(() => ({ text: pieces, pauseMs: 700 }));
    const config = { model: "m", connection_id: body.connection_id, prompt: "{{in-0}}" };
    const id = await tenant.deploy(
      flow(
        [
          { id: "in-0", type: "input" },
          { id: "agent-0", type: "llm", config },
          { id: "out-0", type: "output" },
        ],
        ["in-0>agent-0", "agent-0>out-0"],
      ),
    );
    const { page } = await signedIn(browser, tenant, "viewer", "/runs");
    // The model writes for some seconds, because a browser may take as long to start.
    const { body: run } = await tenant.secret.post("/v2/runs", { project_id: id, inputs: { "in-0": "Write" } });
    await visit(page, `/runs/${run.run_id}?node=agent-0`);
    await text(page, "Streaming output");
    const written = page.locator(".written");
    const first = (await written.innerText()).length;
    await expect.poll(async () => (await written.innerText()).length).toBeGreaterThan(first);
    await page.locator("dl").getByText("Completed").first().waitFor();
    await page.getByRole("region", { name: "Details" }).getByText("word11").first().waitFor();
    await expect.poll(() => page.getByText("Streaming output").count()).toBe(0);
  });

  it("can be cancelled with a reason, and the request can be copied first", async () => {
    const id = await tenant.deploy(slow(600));
    const { body: run } = await tenant.secret.post("/v2/runs", { project_id: id, inputs: {} });
    const { page, context } = await signedIn(browser, tenant, "editor", `/runs/${run.run_id}`);
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.getByRole("button", { name: "Cancel…" }).click();
    const dialog = page.getByRole("dialog", { name: "Cancel run" });
    // As many characters as the API takes.
    expect(await dialog.getByLabel("Reason").getAttribute("maxlength")).toBe("500");
    await dialog.getByLabel("Reason").fill("Isn't needed");
    await dialog.getByRole("button", { name: "Copy as curl" }).click();
    const copied = () => page.evaluate<string>("navigator.clipboard.readText()");
    await expect
      .poll(copied)
      .toBe(
        `curl -X POST '${tenant.target.url}/v2/runs/${run.run_id}/cancel' -H "Authorization: Bearer $MILLRACE_KEY" ` +
          `-H "Content-Type: application/json" -d '{"mode":"graceful","reason":"Isn'\\''t needed"}'`,
      );
    await dialog.getByRole("button", { name: "Cancel run" }).click();
    await dialog.waitFor({ state: "detached" });
    await page.locator("dl").getByText("Cancelled").first().waitFor();
    expect((await tenant.until(run.run_id, "CANCELLED")).state_reason).toBe("Isn't needed");
    await text(page, "Isn't needed");
  });
});

describe("a finished run", () => {
  it("whose input is too long to load can be rerun once the value is entered again", async () => {
    const id = await tenant.deploy(echo());
    const inputs = { "in-0": "x".repeat(300_000) };
    const { body: run } = await tenant.secret.post("/v2/runs", { project_id: id, inputs, mode: "sync" });
    const { page } = await signedIn(browser, tenant, "editor", `/runs/${run.run_id}`);
    await page.getByRole("button", { name: "Rerun…" }).click();
    const dialog = page.getByRole("dialog", { name: "Rerun" });
    await dialog.getByText("Too long to load here: in-0").waitFor();
    const rerun = dialog.getByRole("button", { name: "Rerun", exact: true });
    expect(await rerun.isDisabled()).toBe(true);
    await dialog.getByLabel("in-0").fill("short");
    await rerun.click();
    await dialog.waitFor({ state: "detached" });
    const { data } = (await tenant.secret.get("/v2/runs", { query: { project_id: id } })).body;
    expect(data.map((each: { inputs: unknown }) => each.inputs)[0]).toEqual({ "in-0": "short" });
  });
});

describe("resuming from a node", () => {
  it("shows that skipped nodes before it are reused, too", async () => {
    const nodes = [
      { id: "in-0", type: "input" },
      { id: "tpl-0", type: "template", skip_if: "true", config: { template: "never" } },
      { id: "tpl-1", type: "template", config: { template: "after" } },
      { id: "out-0", type: "output" },
    ] as const;
    const id = await tenant.deploy(flow([...nodes], ["in-0>tpl-0", "in-0>tpl-1", "tpl-0>out-0", "tpl-1>out-0"]));
    const { body: run } = await tenant.secret.post("/v2/runs", {
      project_id: id,
      inputs: { "in-0": "x" },
      mode: "sync",
    });
    const { page } = await signedIn(browser, tenant, "editor", `/runs/${run.run_id}`);
    await page.getByRole("button", { name: "Resume from…" }).click();
    const dialog = page.getByRole("dialog", { name: "Resume from a node" });
    await dialog.getByLabel("Resume from", { exact: true }).selectOption("tpl-1");
    await dialog.getByText("Reused: in-0, tpl-0").waitFor();
  });
});

describe("the graph of a run", () => {
  it("is the only missing part if its script fails to load", async () => {
    const id = await tenant.deploy(echo());
    const { body } = await tenant.secret.post("/v2/runs", { project_id: id, inputs: { "in-0": "x" }, mode: "sync" });
    const { page } = await signedIn(browser, tenant, "viewer");
    await page.route(/flow-graph.*\.js/, (route) => route.abort());
    await page.getByRole("link", { name: "Runs", exact: true }).click();
    await page.locator(`[data-row][title="${body.run_id}"]`).click();
    await page
      .getByRole("region", { name: "Flow" })
      .getByRole("heading", { name: "A new version is available" })
      .waitFor();
    await page.getByRole("heading", { name: "Timeline" }).waitFor();
    await page.getByRole("heading", { name: "Run details" }).waitFor();
  });
});

describe("the list of runs", () => {
  it("can be copied as a curl command with its filters", async () => {
    const id = await tenant.deploy(echo());
    await tenant.secret.post("/v2/runs", { project_id: id, inputs: { "in-0": "x" }, mode: "sync", tags: ["a b"] });
    const { page, context } = await signedIn(
      browser,
      tenant,
      "viewer",
      `/runs?project_id=${id}&state=COMPLETED&state=FAILED&tag=a%20b`,
    );
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.getByRole("button", { name: "Copy as curl" }).click();
    const copied = () => page.evaluate<string>("navigator.clipboard.readText()");
    await expect.poll(copied).toMatch(/^curl '/);
    const command = await copied();
    const [, url = ""] = /^curl '([^']+)' -H "Authorization: Bearer \$MILLRACE_KEY"$/.exec(command) ?? [];
    const answer = await tenant.secret.get(url.slice(tenant.target.url.length));
    expect(answer.body.data).toHaveLength(1);
    expect(new URL(url).searchParams.getAll("state")).toEqual(["COMPLETED", "FAILED"]);
  });

  it("is centred on a very wide screen", async () => {
    const { page } = await signedIn(browser, tenant, "viewer", "/runs", { width: 3840, height: 2160 });
    await page.getByRole("heading", { name: "Runs", exact: true }).waitFor();
    const [left, right] = await page.evaluate<[number, number]>(
      "(({ left, right }) => [left - 208, innerWidth - right])(document.getElementById('content').getBoundingClientRect())",
    );
    expect(Math.abs(left - right)).toBeLessThanOrEqual(1);
    expect(left).toBeGreaterThan(400);
  });
});
