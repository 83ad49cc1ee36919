import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startModelStub, type ModelStub } from "../../src/dev/model-stub.ts";
import { asking, echo, type ApiTenant } from "../api/tenant.ts";
import { flow } from "../engine/support.ts";
import { startHttpTarget, type HttpTarget } from "../support/http-target.ts";
import { address, openStreams, overflow, signedIn, violations, visit } from "./support/console.ts";
import { browser, tenant, useConsole } from "./support/shared-console.ts";

useConsole();
let target: HttpTarget;
let stub: ModelStub;
beforeAll(async () => {
  [target, stub] = await Promise.all([startHttpTarget(), startModelStub()]);
});
afterAll(() => Promise.all([target.close(), stub.close()]));

type Flow = Parameters<ApiTenant["deploy"]>[0];
const input = { id: "in-0", type: "input", config: { required: false, default: "[0, 1, 2]" } };
const output = { id: "out-0", type: "output" };

async function ended(definition: Flow, inputs: Record<string, unknown> = {}): Promise<string> {
  const given = { project_id: await tenant.deploy(definition), inputs, mode: "sync", wait_seconds: 60 };
  const { body } = await tenant.secret.post("/v2/runs", given);
  return body.run_id;
}
/** A map over `in-0` with these nodes, each with an edge to the next. */
const mapping = (nodes: ReadonlyArray<{ readonly id: string }>): Flow => {
  const ids = [...nodes.map(({ id }) => id), "o"];
  const edges = ids.slice(1).map((target_, at) => ({ source: ids[at], target: target_ }));
  const inner = { nodes: [...nodes, { id: "o", type: "output" }], edges };
  return flow(
    [input, { id: "map-0", type: "map", config: { items: 'json(nodes["in-0"])', flow: inner } }, output],
    ["in-0>map-0", "map-0>out-0"],
  );
};
const timeline = (page: Page) => page.getByRole("group", { name: "Timeline of nodes" });
const rowOf = (page: Page, name: RegExp) => timeline(page).getByRole("button", { name });
const picture = (page: Page) => page.getByRole("region", { name: "Flow" });

describe("the timeline", () => {
  it("has a bar for each attempt, separates waiting from work, and zooms", async () => {
    let calls = 0;
    target.on("/flaky", (_, response) => {
      calls += 1;
      response.statusCode = calls < 3 ? 503 : 200;
      response.end("fine");
    });
    const retry = { max_attempts: 5, initial_interval_ms: 200, backoff: 1 };
    const http = { id: "http-0", type: "http", config: { method: "GET", url: `${target.url}/flaky` }, retry };
    const run_id = await ended(flow([input, http, output], ["in-0>http-0", "http-0>out-0"]));
    const { page } = await signedIn(browser, tenant, "viewer", `/runs/${run_id}`);
    const row = rowOf(page, /^http-0\b.*Completed.*3 attempts/);
    const bars = row.locator(".timeline-bar");
    await row.waitFor();
    const titles = () => bars.evaluateAll((all) => all.map((bar) => bar.getAttribute("title")?.replace(/, .*$/, "")));
    await expect
      .poll(titles)
      .toEqual([
        "Attempt 1: http_status",
        "Waiting for the next attempt",
        "Attempt 2: http_status",
        "Waiting for the next attempt",
        "Attempt 3",
      ]);
    await row.click();
    const attempts = page.getByRole("list", { name: "Attempts" });
    await attempts.getByText("succeeded").waitFor();
    await expect.poll(() => attempts.getByText("http_status", { exact: true }).count()).toBe(2);

    // After zooming, the start is out of view until the whole range is shown again by keyboard.
    const early = rowOf(page, /^in-0\b/).locator(".timeline-bar");
    const fit = timeline(page).getByRole("button", { name: "Fit", exact: true });
    expect([await early.count(), await fit.isDisabled()]).toEqual([1, true]);
    await timeline(page).getByRole("button", { name: "Zoom in" }).click();
    await row.focus();
    await page.keyboard.press("+");
    await expect.poll(() => early.count()).toBe(0);
    await page.keyboard.press("0");
    await expect.poll(() => early.count()).toBe(1);
    expect(await fit.isDisabled()).toBe(true);
    // Up and down change the selected node, on the whole page.
    await page.keyboard.press("ArrowDown");
    await page.waitForURL(address(tenant, `/runs/${run_id}?node=out-0`));
    await page.getByRole("heading", { name: "out-0" }).waitFor();
    expect(await violations(page)).toEqual([]);
  });

  it("draws only the visible items of a map of a thousand, and scrolls to the selected one", async () => {
    const run_id = await ended(mapping([{ id: "t", type: "template", config: { template: "{{item}}" } } as never]), {
      "in-0": JSON.stringify(Array.from({ length: 1000 }, (_, at) => at)),
    });
    await tenant.until(run_id, "COMPLETED");
    const { page } = await signedIn(browser, tenant, "viewer", `/runs/${run_id}`);
    await page.getByRole("group", { name: /map-0, map: Completed, 1,000 \/ 1,000/ }).waitFor();
    const rows = timeline(page).locator(".timeline-row");
    await expect.poll(() => rows.count()).toBe(3);
    await timeline(page).getByRole("button", { name: "Contents of map-0" }).click();
    await rowOf(page, /^item 5\b/).waitFor();
    expect(await rows.count()).toBeLessThan(60);
    await page.goto(address(tenant, `/runs/${run_id}?node=map-0[777]/t`));
    await rowOf(page, /^t\b.*Completed/)
      .and(page.locator("[aria-pressed=true]"))
      .waitFor();
    await page.getByRole("group", { name: "Output of map-0[777]/t" }).getByText("777").waitFor();
  });
});

describe("nodes with names", () => {
  it("are shown by name with the ID second, and an HTTP error explains its status", async () => {
    target.on("/down", (_, response) => {
      response.statusCode = 503;
      response.end("out of service");
    });
    const get = { method: "GET", url: `${target.url}/down` };
    const ask = { id: "http-0", type: "http", name: "Ask the shop", config: get, on_error: "fail" };
    const inner = { nodes: [ask, { id: "o", type: "output" }], edges: [{ source: "http-0", target: "o" }] };
    const shops = { items: "[1]", flow: inner };
    const run_id = await ended(
      flow(
        [input, { id: "map-0", type: "map", name: "Every shop", config: shops }, output],
        ["in-0>map-0", "map-0>out-0"],
      ),
    );
    const { page } = await signedIn(browser, tenant, "viewer", `/runs/${run_id}`);
    const trouble = page.locator(".notice-bad").first();
    await trouble.getByText("Ask the shop").waitFor();
    expect(await trouble.innerText()).toMatch(
      /^Ask the shop map-0\[0\]\/http-0: http_status [^]*How to fix: The server failed/,
    );
    await rowOf(page, /^in-0\b/).waitFor();
    await rowOf(page, /^Every shop map-0\b/).waitFor();
    await trouble.getByRole("button", { name: "Show node" }).click();
    await rowOf(page, /^Ask the shop http-0\b/).waitFor();
    await page.getByRole("heading", { name: "Ask the shop" }).waitFor();
    const where = page.getByRole("navigation", { name: "Breadcrumb" });
    await where.getByRole("button", { name: "Every shop" }).waitFor();
    await page.goto(address(tenant, `/runs/${run_id}?node=map-0[0]`));
    await page
      .getByRole("region", { name: "Details" })
      .getByRole("button", { name: /^Ask the shop http-0/ })
      .waitFor();
    expect(await violations(page)).toEqual([]);
  });

  it("are shown by name in lists, in the inbox, and in the resume dialog", async () => {
    const nodes = [
      { id: "in-0", type: "input", name: "Customer" },
      { id: "guard-0", type: "guard", name: "Known?", config: { check: 'nodes["in-0"] != "nobody"', message: "no" } },
      { id: "approval-0", type: "approval", name: "Ask a person", config: { message: "Continue?" } },
      output,
    ];
    const edges = ["in-0>guard-0", "guard-0>approval-0", "approval-0:approve>out-0", "approval-0:reject>out-0"];
    const project_id = await tenant.deploy(flow(nodes, edges));
    const start = async (customer: string): Promise<string> =>
      (await tenant.secret.post("/v2/runs", { project_id, inputs: { "in-0": customer } })).body.run_id;
    const [failed, asked] = [await start("nobody"), await start("Ada")];
    await tenant.until(failed, "FAILED");
    const { pauses } = await tenant.until(asked, "PAUSED");
    const { page } = await signedIn(browser, tenant, "editor", `/runs?project_id=${project_id}`);
    await page.getByRole("row", { name: "Known? no guard-0" }).waitFor();
    await visit(page, `/inbox/${pauses[0].pause_id}`);
    await page.getByText(/^Requested .* at Ask a person approval-0$/).waitFor();
    await visit(page, `/runs/${failed}?node=guard-0`);
    await page.getByRole("button", { name: "Resume from this node…" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("Reused: Customer (in-0)").waitFor();
    await dialog.getByText("Will run: Known? (guard-0), Ask a person (approval-0), out-0").waitFor();
    await dialog.getByLabel("Customer (in-0)").fill("Ada");
    await dialog.getByLabel("Customer (in-0), changed").waitFor();
    await tenant.secret.post(`/v2/runs/${asked}/cancel`, {});
  });

  it("are shown by name while they are retried", async () => {
    target.on("/never", (_, response) => {
      response.statusCode = 503;
      response.end();
    });
    const retry = { max_attempts: 5, initial_interval_ms: 600_000, backoff: 1 };
    const get = { method: "GET", url: `${target.url}/never` };
    const http = { id: "http-0", type: "http", name: "Ask the bank", config: get, retry };
    const { body } = await tenant.secret.post("/v2/runs", {
      project_id: await tenant.deploy(flow([input, http, output], ["in-0>http-0", "http-0>out-0"])),
      inputs: {},
    });
    const { page } = await signedIn(browser, tenant, "viewer", `/runs/${body.run_id}`);
    await page.getByText("Retrying Ask the bank http-0").waitFor();
    // On a phone, the node's name is shown, whatever else is shown beside it.
    await page.setViewportSize({ width: 360, height: 800 });
    await expect
      .poll(() =>
        timeline(page)
          .getByText("Ask the bank")
          .evaluate(({ clientWidth: width }) => width),
      )
      .toBeGreaterThan(60);
    await tenant.secret.post(`/v2/runs/${body.run_id}/cancel`, {});
  });
});

describe("the contents", () => {
  it("of a map open item by item in the same graph", async () => {
    const run_id = await ended(
      mapping([{ id: "t", type: "template", config: { template: "made of {{item}}" } } as never]),
    );
    const { page } = await signedIn(browser, tenant, "viewer", `/runs/${run_id}`);
    await picture(page).getByRole("button", { name: "Open map-0" }).click();
    const where = page.getByRole("navigation", { name: "Breadcrumb" });
    await where.getByText("item 0").waitFor();
    await picture(page)
      .getByRole("group", { name: /^t, template: Completed/ })
      .waitFor();
    await where.getByRole("button", { name: "Next item" }).click();
    await page.waitForURL(address(tenant, `/runs/${run_id}?node=map-0%5B1%5D`));
    await picture(page)
      .getByRole("group", { name: /^t, template: Completed/ })
      .click();
    await page.getByRole("group", { name: "Output of map-0[1]/t" }).getByText("made of 1").waitFor();
    // The timeline has unfolded the parents of the node.
    await rowOf(page, /^t\b/).and(page.locator("[aria-pressed=true]")).waitFor();
    expect(await violations(page)).toEqual([]);
    await where.getByRole("button", { name: "map-0" }).click();
    await page.getByRole("heading", { name: "Items" }).waitFor();
    await picture(page)
      .getByRole("group", { name: /map-0, map: Completed, 3 \/ 3/ })
      .waitFor();
  });

  it("of a subflow open in place while it runs, with a way back", async () => {
    const inner = await tenant.deploy(asking());
    const outer = flow(
      [input, { id: "sub-0", type: "subflow", config: { project_id: inner } }, output],
      ["in-0>sub-0", "sub-0>out-0"],
    );
    const { body } = await tenant.secret.post("/v2/runs", { project_id: await tenant.deploy(outer), inputs: {} });
    const paused = await tenant.until(body.run_id, "PAUSED");
    const { page } = await signedIn(browser, tenant, "editor", "/runs");
    const streams = openStreams(page);
    await visit(page, `/runs/${body.run_id}`);
    await expect.poll(() => [...streams]).toEqual([`/v2/runs/${body.run_id}`]);
    await picture(page).getByRole("button", { name: "Open sub-0" }).click();
    await page.waitForURL(address(tenant, `/runs/${body.run_id}?via=sub-0`));
    await picture(page)
      .getByRole("group", { name: /^approval-0, approval: Paused/ })
      .waitFor();
    // One stream per tab: that of the run being shown.
    await expect.poll(() => [streams.length, streams[0] === `/v2/runs/${body.run_id}`]).toEqual([1, false]);
    await rowOf(page, /^approval-0\b/).click();
    const { pause_id } = paused.pauses[0];
    await tenant.secret.post(`/v2/runs/${body.run_id}/resume`, { pause_id, action: "approve" });
    await picture(page)
      .getByRole("group", { name: /^out-0, output: Completed/ })
      .waitFor();
    await page.reload();
    await page.getByRole("group", { name: /^Output of approval-0/ }).waitFor();
    const where = page.getByRole("navigation", { name: "Breadcrumb" });
    expect(await overflow(page)).toBeLessThanOrEqual(0);
    await where.getByRole("button", { name: "test" }).click();
    await page.waitForURL(address(tenant, `/runs/${body.run_id}`));
    await picture(page)
      .getByRole("group", { name: /^sub-0, subflow: Completed/ })
      .waitFor();
  });
});

describe("a model node with tools", () => {
  it("shows each step with its tokens, each tool call with arguments and result, and its child runs", async () => {
    const { body: connection } = await tenant.secret.post("/v2/connections", {
      name: "stub",
      provider_id: "openai_compatible",
      scheme: "api_key",
      credential: { api_key: "sk-planted", base_url: `${stub.url}/v1` },
    });
    const tool = {
      type: "subflow",
      project_id: await tenant.deploy(echo()),
      name: "repeat",
      description: "Says it again",
    };
    const config = { model: "m", connection_id: connection.connection_id, prompt: "{{in-0}}", tools: [tool] };
    stub.next(
      { tools: [{ id: "call_0", name: "repeat", input: { "in-0": "parrot" } }] },
      { text: ["It says parrot."] },
    );
    const run_id = await ended(
      flow(
        [{ id: "in-0", type: "input" }, { id: "llm-0", type: "llm", config }, output],
        ["in-0>llm-0", "llm-0>out-0"],
      ),
      { "in-0": "Say parrot" },
    );
    await tenant.until(run_id, "COMPLETED");
    const { page } = await signedIn(browser, tenant, "viewer", `/runs/${run_id}?node=llm-0`);
    const said = page.getByRole("list", { name: "Conversation" });
    await said.getByText("Say parrot").waitFor();
    await said
      .getByText(/^m · \d+ input, \d+ output tokens/)
      .first()
      .waitFor();
    await said.getByText("Requested tools: repeat").waitFor();
    await said.getByRole("group", { name: "Arguments of llm-0/tools[0]" }).getByText("parrot").waitFor();
    await said.getByRole("group", { name: "Result of llm-0/tools[0]" }).getByText("parrot").waitFor();
    await said.getByText("It says parrot.").waitFor();
    expect(await violations(page)).toEqual([]);
    await said.getByRole("button", { name: "Open subflow" }).click();
    await page.waitForURL(address(tenant, `/runs/${run_id}?via=llm-0%2Ftools%5B0%5D`));
    await picture(page)
      .getByRole("group", { name: /^out-0, output: Completed/ })
      .waitFor();
  });

  it("has a start request that can be copied as curl, with any characters", async () => {
    const run_id = await ended(flow([{ id: "in-0", type: "input" }, output], ["in-0>out-0"]), { "in-0": "it's $HOME" });
    const { page, context } = await signedIn(browser, tenant, "viewer", `/runs/${run_id}`);
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.getByRole("button", { name: "Copy start request" }).click();
    const copied = () => page.evaluate<string>("navigator.clipboard.readText()");
    await expect.poll(copied).toContain(`-d '{"project_id":`);
    expect(await copied()).toContain(`"in-0":"it'\\''s $HOME"`);
  });
});
