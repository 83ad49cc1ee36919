import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { ApiTenant } from "../api/tenant.ts";
import { flow, nested } from "../engine/support.ts";
import { expectNoFaults, signedIn } from "../web/support/console.ts";
import { openOwnConsole } from "../web/support/own-console.ts";

/** How long the run is looked at. */
const MINUTES = Number(process.env["MILLRACE_WATCH_MINUTES"] ?? 10);
const SAMPLES = 12;
const MB = 1_000_000;

let browser: Browser;
let close: () => Promise<void>;
let tenant: ApiTenant;
beforeAll(async () => {
  ({ browser, close, tenant } = await openOwnConsole());
}, 600_000);
afterEach(expectNoFaults);
afterAll(() => close?.());

/** Goes on for longer than it is looked at, with a node that begins and one that ends every other second. */
const endless = () => {
  const inner = nested(
    [
      { id: "delay-0", type: "delay", config: { seconds: 2 } },
      { id: "o", type: "output", config: { value: "round" } },
    ],
    ["delay-0>o"],
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

describe("a run that is looked at", () => {
  it(`takes no more memory after ${MINUTES} minutes than at the beginning`, async () => {
    const project_id = await tenant.deploy(endless());
    const { status, body } = await tenant.secret.post("/v2/runs", { project_id, inputs: {} });
    expect(status, JSON.stringify(body)).toBe(201);
    const { page, context } = await signedIn(browser, tenant, "viewer", `/runs/${body.run_id}`);
    await page.getByRole("heading", { name: "Timeline" }).waitFor();
    const tab = await context.newCDPSession(page);
    await tab.send("Performance.enable");
    const sample = async () => {
      // Twice: what the first collection gives up, the second takes.
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
    // The run itself grows by a few kilobytes: its nodes are more.
    expect(run.nodes.length).toBeGreaterThan(MINUTES * 20);
    expect(grown("heap")).toBeLessThan(3 * MB);
    expect(grown("elements")).toBeLessThan(2000);
    expect(grown("listeners")).toBeLessThan(200);
    await context.close();
  });
});
