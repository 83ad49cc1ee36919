import { afterAll, beforeAll, expect, it } from "vitest";
import { flow, openBench } from "../engine/support.ts";
import type { Bench } from "../engine/support.ts";
import { startHttpTarget } from "../support/http-target.ts";
import type { HttpTarget } from "../support/http-target.ts";
import { startService } from "../support/service.ts";
import type { OwnService } from "../support/service.ts";

let service: OwnService;
let target: HttpTarget;
let bench: Bench;
beforeAll(async () => {
  service = await startService();
  target = await startHttpTarget();
  bench = await openBench(service);
});
afterAll(async () => {
  await target?.close();
  await service?.close();
});

/** The sum of the samples of a metric over all processes, of those whose labels say so. */
async function total(metric: string, labels: Readonly<Record<string, string>> = {}): Promise<number> {
  const texts = await Promise.all(
    [...service.api, ...service.worker].map(async ({ url }) => (await fetch(`${url}/metrics`)).text()),
  );
  const wanted = Object.entries(labels).map(([name, value]) => `${name}="${value}"`);
  return texts
    .flatMap((text) => text.split("\n"))
    .filter((line) => line.startsWith(`${metric}{`) && wanted.every((label) => line.includes(label)))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
}

it("the metrics of all processes together count every run, node and request once, whichever process recorded it", async () => {
  const inline = await bench.deploy(
    flow(
      [
        { id: "in-0", type: "input" },
        { id: "out-0", type: "output" },
      ],
      ["in-0>out-0"],
    ),
  );
  const guarded = await bench.deploy(
    flow(
      [
        { id: "guard-0", type: "guard", config: { check: "false", message: "no" } },
        { id: "out-0", type: "output" },
      ],
      ["guard-0>out-0"],
    ),
  );
  const asking = (path: string) =>
    flow(
      [
        {
          id: "http-0",
          type: "http",
          config: { url: `${target.url}${path}` },
          retry: { max_attempts: 2, initial_interval_ms: 1 },
        },
        { id: "out-0", type: "output" },
      ],
      ["http-0>out-0"],
    );
  const http = await bench.deploy(asking("/text"));
  const failing = await bench.deploy(asking("/status?code=503"));
  const waiting = await bench.deploy(
    flow(
      [
        { id: "delay-0", type: "delay", config: { seconds: 3600 } },
        { id: "out-0", type: "output" },
      ],
      ["delay-0>out-0"],
    ),
  );
  const start = async (project: string, count: number, inputs = {}): Promise<string[]> =>
    Promise.all(Array.from({ length: count }, async () => (await bench.start(project, inputs)).run_id));

  const ids = [
    ...(await start(inline, 5, { "in-0": "x" })),
    ...(await start(guarded, 3)),
    ...(await start(http, 3)),
    ...(await start(failing, 2)),
  ];
  const cancelled = await start(waiting, 3);
  for (const id of cancelled) {
    await bench.until(id, "RUNNING");
    await bench.api.post(`/v2/runs/${id}/cancel`, { mode: id === cancelled[0] ? "terminate" : "graceful" });
  }
  for (const id of [...ids, ...cancelled]) await bench.until(id);

  // A process that has just written a row has counted it a moment later.
  await expect.poll(() => total("millrace_runs_finished_total")).toBe(16);
  expect(await total("millrace_runs_started_total")).toBe(16);
  const byState = { COMPLETED: 8, FAILED: 5, CANCELLED: 3 };
  for (const [state, count] of Object.entries(byState)) {
    expect.soft({ state, count: await total("millrace_runs_finished_total", { state }) }).toEqual({ state, count });
    expect.soft(await total("millrace_run_duration_seconds_count", { state })).toBe(count);
  }
  expect.soft(await total("millrace_project_runs_finished_total", { project: guarded, state: "FAILED" })).toBe(3);
  expect.soft(await total("millrace_project_run_duration_seconds_count", { project: inline })).toBe(5);
  expect.soft(await total("millrace_node_duration_seconds_count", { kind: "http", state: "COMPLETED" })).toBe(3);
  expect.soft(await total("millrace_node_duration_seconds_count", { kind: "http", state: "FAILED" })).toBe(2);
  expect.soft(await total("millrace_node_duration_seconds_count", { kind: "output", state: "COMPLETED" })).toBe(8);
  // Two attempts each.
  expect.soft(await total("millrace_node_failures_total", { kind: "http", project: failing })).toBe(4);
  expect.soft(await total("millrace_node_failures_total", { kind: "guard", project: guarded })).toBe(3);
  expect
    .soft(await total("millrace_activity_failures_total", { activity: "executeNode", code: "http_status" }))
    .toBe(2);
  expect.soft(await total("millrace_outbound_requests_total", { outcome: "ok" })).toBe(target.requests.length);
  expect.soft(target.requests).toHaveLength(7);
});
