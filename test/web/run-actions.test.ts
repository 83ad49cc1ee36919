import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startModelStub } from "../../src/dev/model-stub.ts";
import type { ModelStub } from "../../src/dev/model-stub.ts";
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

describe("a run under way", () => {
  it("shows what an agent is writing as it grows, and its answer at the end", async () => {
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
    const { page, context } = await signedIn(browser, tenant, "viewer", "/runs");
    // What it writes takes some seconds: a browser may take as long to begin.
    const { body: run } = await tenant.secret.post("/v2/runs", { project_id: id, inputs: { "in-0": "Write" } });
    await visit(page, `/runs/${run.run_id}?node=agent-0`);
    await text(page, "Being written");
    const written = page.locator(".written");
    const first = (await written.innerText()).length;
    await expect.poll(async () => (await written.innerText()).length).toBeGreaterThan(first);
    await page.locator("dl").getByText("Completed").first().waitFor();
    await page.getByRole("region", { name: "Details" }).getByText("word11").first().waitFor();
    await expect.poll(() => page.getByText("Being written").count()).toBe(0);
    await context.close();
  });

  it("is cancelled with a reason; the request for it can be copied beforehand", async () => {
    const id = await tenant.deploy(slow(600));
    const { body: run } = await tenant.secret.post("/v2/runs", { project_id: id, inputs: {} });
    const { page, context } = await signedIn(browser, tenant, "editor", `/runs/${run.run_id}`);
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.getByRole("button", { name: "Cancel…" }).click();
    const dialog = page.getByRole("dialog", { name: "Cancel the run" });
    await dialog.getByLabel("Reason").fill("Isn't needed");
    await dialog.getByRole("button", { name: "Copy as curl" }).click();
    const copied = () => page.evaluate<string>("navigator.clipboard.readText()");
    await expect
      .poll(copied)
      .toBe(
        `curl -X POST '${tenant.target.url}/v2/runs/${run.run_id}/cancel' -H "Authorization: Bearer $MILLRACE_KEY" ` +
          `-H "Content-Type: application/json" -d '{"mode":"graceful","reason":"Isn'\\''t needed"}'`,
      );
    await dialog.getByRole("button", { name: "Cancel the run" }).click();
    await dialog.waitFor({ state: "detached" });
    await page.locator("dl").getByText("Cancelled").first().waitFor();
    expect((await tenant.until(run.run_id, "CANCELLED")).state_reason).toBe("Isn't needed");
    await text(page, "Isn't needed");
    await context.close();
  });
});

describe("the picture of a run", () => {
  it("alone is missing where its part of the console does not arrive", async () => {
    const id = await tenant.deploy(echo());
    const { body } = await tenant.secret.post("/v2/runs", { project_id: id, inputs: { "in-0": "x" }, mode: "sync" });
    const { page, context } = await signedIn(browser, tenant, "viewer");
    await page.route(/flow-graph.*\.js/, (route) => route.abort());
    await page.getByRole("link", { name: "Runs", exact: true }).click();
    await page.locator(`[data-row][title="${body.run_id}"]`).click();
    await page.getByRole("region", { name: "Flow" }).getByRole("heading", { name: "There is a new version" }).waitFor();
    await page.getByRole("heading", { name: "Timeline" }).waitFor();
    await page.getByRole("heading", { name: "The run" }).waitFor();
    await context.close();
  });
});

describe("the list of runs", () => {
  it("can be asked for with its filters by curl", async () => {
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
    await context.close();
  });

  it("stands in the middle of a very wide screen", async () => {
    const { page, context } = await signedIn(browser, tenant, "viewer", "/runs", { width: 3840, height: 2160 });
    await page.getByRole("heading", { name: "Runs", exact: true }).waitFor();
    const [left, right] = await page.evaluate<[number, number]>(
      "(({ left, right }) => [left - 208, innerWidth - right])(document.getElementById('content').getBoundingClientRect())",
    );
    expect(Math.abs(left - right)).toBeLessThanOrEqual(1);
    expect(left).toBeGreaterThan(400);
    await context.close();
  });
});
