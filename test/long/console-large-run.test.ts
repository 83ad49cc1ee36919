import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { echo, type ApiTenant } from "../api/tenant.ts";
import { expectNoFaults, signedIn, visit } from "../web/support/console.ts";
import { openOwnConsole } from "../web/support/own-console.ts";

const NODES = 5000;

let browser: Browser;
let close: () => Promise<void>;
let tenant: ApiTenant;
beforeAll(async () => {
  ({ browser, close, tenant } = await openOwnConsole());
}, 600_000);
afterEach(expectNoFaults);
afterAll(() => close?.());

/** Inserts a run with as many nodes as the installation allows after MILLRACE_MAX_NODES was raised; its records are written directly. */
async function largeRun(): Promise<string> {
  const project_id = await tenant.deploy(echo());
  const { body } = await tenant.secret.post("/v2/runs", { project_id, inputs: { "in-0": "x" }, mode: "sync" });
  const nodes = Array.from({ length: NODES }, (_, at) => ({
    id: `tpl-${at}`,
    type: "template",
    config: { template: "x" },
  }));
  const edges = nodes
    .slice(1)
    .flatMap((node, at) => [
      { source: `tpl-${Math.floor(at / 3)}`, target: node.id },
      ...(at % 7 === 0 && at > 60 ? [{ source: `tpl-${at - 50}`, target: node.id }] : []),
    ]);
  const definition = { schema_version: 1, name: "large", nodes, edges };
  await tenant.withDatabase((database) =>
    database.system(async (db) => {
      await db.query("update flow_versions set written_definition = $2::json where project_id = $1", [
        project_id,
        JSON.stringify(definition),
      ]);
      await db.query("delete from node_runs where run_id = $1", [body.run_id]);
      await db.query(
        `insert into node_runs (run_id, path, org_id, node_id, type, state, attempts, inputs, output, started_at, finished_at)
         select $1, 'tpl-' || n, $2, 'tpl-' || n, 'template', 'COMPLETED', 1, '{}', '"x"', r.started_at + n * interval '1 millisecond',
           r.started_at + (n + 40) * interval '1 millisecond'
         from runs r, generate_series(0, $3::integer - 1) n where r.run_id = $1`,
        [body.run_id, tenant.org_id, NODES],
      );
    }),
  );
  return body.run_id;
}

interface Frames {
  readonly perSecond: number;
  /** CPU time of the page per frame, which other load on the machine does not change much. */
  readonly busyMs: number;
}

/** Measures frames while `step` runs in each of them for two seconds. */
async function framesWhile(page: Page, step: string): Promise<Frames> {
  const network = await page.context().newCDPSession(page);
  await network.send("Performance.enable");
  const busy = async (): Promise<number> => {
    const { metrics } = await network.send("Performance.getMetrics");
    return (metrics.find(({ name }) => name === "TaskDuration")?.value ?? 0) * 1000;
  };
  const before = await busy();
  const frames = await page.evaluate<{ count: number; ms: number }>(`new Promise((resolve) => {
    const began = performance.now();
    let count = 0;
    const step = ${step};
    const frame = () => {
      step(count++);
      if (performance.now() - began < 2000) requestAnimationFrame(frame);
      else resolve({ count, ms: performance.now() - began });
    };
    requestAnimationFrame(frame);
  })`);
  const after = await busy();
  await network.detach();
  return { perSecond: (frames.count * 1000) / frames.ms, busyMs: (after - before) / frames.count };
}

describe(`a run of ${NODES} nodes`, () => {
  it("is drawn quickly, and needs little computing per frame while it is moved and scrolled", async () => {
    const runId = await largeRun();
    const { page } = await signedIn(browser, tenant, "viewer", "/runs");
    await page.getByRole("heading", { name: "Runs", exact: true }).waitFor();
    // The code of the page is loaded first, so that only the run is measured.
    await visit(page, "/runs/0197f0a0-0000-7000-8000-000000000000");
    await page.getByRole("heading", { name: "Run not found" }).waitFor();
    const drawnMs = await page.evaluate<number>(`new Promise((resolve) => {
      const began = performance.now();
      history.pushState(null, "", "/console/runs/${runId}");
      dispatchEvent(new PopStateEvent("popstate"));
      const look = () =>
        document.querySelector(".graph-node") && document.querySelector(".timeline-row")
          ? requestAnimationFrame(() => resolve(performance.now() - began))
          : requestAnimationFrame(look);
      look();
    })`);
    const drawn = await page.locator(".graph-node").count();
    expect(drawn).toBeGreaterThan(3);
    expect(drawn).toBeLessThan(600);
    const scrolled = await framesWhile(page, `() => { document.querySelector(".timeline-list").scrollTop += 48; }`);
    const moved = await framesWhile(
      page,
      `(() => {
        const pane = document.querySelector(".react-flow__pane");
        const { x, y, width, height } = pane.getBoundingClientRect();
        const [left, top] = [x + width / 2, y + height / 2];
        const send = (type, at) => {
          const options = { bubbles: true, cancelable: true, view: window, button: 0, buttons: 1, clientX: left + at, clientY: top - at };
          (type === "mousedown" ? pane : window).dispatchEvent(new MouseEvent(type, options));
        };
        send("mousedown", 0);
        return (frame) => send("mousemove", frame * 6);
      })()`,
    );
    await page.evaluate(`window.dispatchEvent(new MouseEvent("mouseup", { bubbles: true, view: window }))`);
    const round = (value: number): number => Math.round(value * 10) / 10;
    process.stdout.write(
      `${NODES} nodes: drawn in ${round(drawnMs)} ms; the timeline scrolls at ${round(scrolled.perSecond)} frames/s (${round(scrolled.busyMs)} ms each), the picture moves at ${round(moved.perSecond)} (${round(moved.busyMs)} ms each)\n`,
    );
    // Selecting a node in the timeline makes it visible in the graph, wherever it is.
    await page.evaluate("document.querySelector('.timeline-list').scrollTop = 1e9");
    await page
      .getByRole("button", { name: /tpl-4999/ })
      .first()
      .click();
    await page.locator(".react-flow__node.selected").getByText("tpl-4999").waitFor();
    // On a busy machine a frame takes longer than the page's own work, so that work is measured.
    expect(drawnMs).toBeLessThan(3000);
    expect(scrolled.busyMs).toBeLessThan(40);
    expect(moved.busyMs).toBeLessThan(60);
  });
});
