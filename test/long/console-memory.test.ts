import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { startModelStub, type ModelStub } from "../../src/dev/model-stub.ts";
import type { ApiTenant } from "../api/tenant.ts";
import { flow, nested } from "../engine/support.ts";
import { expectNoFaults, signedIn } from "../web/support/console.ts";
import { openOwnConsole } from "../web/support/own-console.ts";

/** How long the run is watched. */
const MINUTES = Number(process.env["MILLRACE_WATCH_MINUTES"] ?? 10);
const SAMPLES = 12;
const MB = 1_000_000;
/** Text per iteration; if the page kept these texts, four minutes of them would exceed the allowed growth. */
const PIECES = Array.from({ length: 20 }, (_, at) => `${at} `.repeat(2000));

let browser: Browser;
let close: () => Promise<void>;
let tenant: ApiTenant;
let stub: ModelStub;
beforeAll(async () => {
  [{ browser, close, tenant }, stub] = await Promise.all([openOwnConsole(), startModelStub()]);
}, 600_000);
afterEach(expectNoFaults);
afterAll(() => Promise.all([close?.(), stub?.close()]));

/** A run that lasts longer than it is watched: it alternates a wait with a model that writes a long text piece by piece. */
const endless = async () => {
  stub.answer(() => ({ text: PIECES, pauseMs: 20 }));
  const { body: connection } = await tenant.secret.post("/v2/connections", {
    name: "stub",
    provider_id: "openai_compatible",
    scheme: "api_key",
    credential: { api_key: "sk-planted", base_url: `${stub.url}/v1` },
  });
  const config = { model: "m", connection_id: connection.connection_id, prompt: "Write" };
  const inner = nested(
    [
      { id: "delay-0", type: "delay", config: { seconds: 1 } },
      { id: "llm-0", type: "llm", config },
      { id: "o", type: "output", config: { value: "round" } },
    ],
    ["delay-0>llm-0", "llm-0>o"],
  );
  const rounds = MINUTES * 30 + 60;
  return flow(
    [
      { id: "loop-0", type: "loop", config: { while: `index < ${rounds}`, max_iterations: rounds + 1, flow: inner } },
      { id: "out-0", type: "output" },
    ],
    ["loop-0>out-0"],
  );
};

describe("a run page that stays open", () => {
  it(`takes no more memory after ${MINUTES} minutes than at the beginning`, async () => {
    const project_id = await tenant.deploy(await endless());
    const { status, body } = await tenant.secret.post("/v2/runs", { project_id, inputs: {} });
    expect(status, JSON.stringify(body)).toBe(201);
    const { page, context } = await signedIn(browser, tenant, "viewer", `/runs/${body.run_id}`);
    await page.getByRole("heading", { name: "Timeline" }).waitFor();
    const tab = await context.newCDPSession(page);
    await tab.send("Performance.enable");
    const sample = async () => {
      // Collected twice, because the second pass frees what the first one finalised.
      await tab.send("HeapProfiler.collectGarbage");
      await tab.send("HeapProfiler.collectGarbage");
      const { metrics } = await tab.send("Performance.getMetrics");
      const of = (name: string): number => metrics.find((each) => each.name === name)?.value ?? 0;
      return { heap: of("JSHeapUsedSize"), elements: of("Nodes"), listeners: of("JSEventListeners") };
    };
    const samples: Array<Awaited<ReturnType<typeof sample>>> = [];
    for (let at = 0; at < SAMPLES; at++) {
      await page.waitForTimeout((MINUTES * 60_000) / SAMPLES);
      samples.push(await sample());
    }
    const { body: run } = await tenant.secret.get(`/v2/runs/${body.run_id}?expand=nodes&node_values=false`);
    process.stdout.write(
      `${MINUTES} minutes, ${run.nodes.length} nodes: heap ${samples.map(({ heap }) => (heap / MB).toFixed(1)).join(" ")} MB; elements ${samples.map(({ elements }) => elements).join(" ")}; listeners ${samples.map(({ listeners }) => listeners).join(" ")}\n`,
    );
    await tenant.secret.post(`/v2/runs/${body.run_id}/cancel`, {});
    const third = SAMPLES / 3;
    const middle = (of: "heap" | "elements" | "listeners", part: typeof samples): number =>
      part.map((each) => each[of]).toSorted((a, b) => a - b)[Math.floor(part.length / 2)] ?? 0;
    const grown = (of: "heap" | "elements" | "listeners"): number =>
      middle(of, samples.slice(-third)) - middle(of, samples.slice(0, third));
    // The run itself grows by a few kilobytes for its new nodes.
    expect(run.nodes.length).toBeGreaterThan(MINUTES * 20);
    expect(stub.calls.length).toBeGreaterThan(MINUTES * 10);
    expect(grown("heap")).toBeLessThan(3 * MB);
    expect(grown("elements")).toBeLessThan(2000);
    expect(grown("listeners")).toBeLessThan(200);
  });
});
