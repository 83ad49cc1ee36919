import { afterAll, beforeAll, expect, it } from "vitest";
import { flow, nested, openBench } from "../engine/support.ts";
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

type Line = Readonly<Record<string, unknown>>;

/** What `grep <run id>` finds in the logs of all processes. */
const grep = (runId: string): Line[] =>
  service
    .logs()
    .split("\n")
    .filter((line) => line.includes(runId))
    .map((line) => JSON.parse(line) as Line);

it("the logs of a failed run are found by its id: who asked for it, each failed attempt and where, how it ended", async () => {
  const inner = nested(
    [
      {
        id: "http-0",
        type: "http",
        config: { url: `${target.url}/status?code=503` },
        retry: { max_attempts: 2, initial_interval_ms: 1 },
      },
      { id: "out-0", type: "output" },
    ],
    ["http-0>out-0"],
  );
  const project_id = await bench.deploy(
    flow(
      [
        { id: "map-0", type: "map", config: { items: '["a"]', flow: inner } },
        { id: "out-0", type: "output" },
      ],
      ["map-0>out-0"],
    ),
  );
  const headers = { "idempotency-key": "once" };
  const path = `/inference/v0/run/${bench.org_id}/${project_id}`;
  const { status, body } = await bench.api.post(path, {}, { headers });
  expect(status, JSON.stringify(body)).toBe(502);
  const run_id = body.run_id as string;
  await bench.api.post(path, {}, { headers });
  await bench.api.get(`/v2/runs/${run_id}`);
  await bench.api.get(`${path}/metadata`, { query: { run_id } });
  await expect.poll(() => grep(run_id).filter(({ msg }) => msg === "request")).toHaveLength(4);
  await expect.poll(() => grep(run_id).filter(({ msg }) => msg === "run finished")).toHaveLength(1);

  const lines = grep(run_id);
  for (const line of lines) expect(line).toMatchObject({ run_id, org_id: bench.org_id, project_id });
  const requests = lines.filter(({ msg }) => msg === "request").map(({ operation, status }) => [operation, status]);
  expect(requests).toEqual([
    ["runDeployedFlow", 502],
    ["runDeployedFlow", 502],
    ["getRun", 200],
    ["getDeployedFlowRun", 200],
  ]);
  const failures = lines.filter(({ path: where, msg }) => where === "map-0[0]/http-0" && msg !== "request");
  expect(failures).toMatchObject([
    { msg: "node attempt failed; it is tried again", attempt: 1, code: "http_status", kind: "http" },
    { msg: "node failed", attempt: 2, code: "http_status" },
  ]);
  expect(lines.find(({ msg }) => msg === "run finished")).toMatchObject({
    state: "FAILED",
    reason: "http_status",
    ms: expect.any(Number) as number,
  });
});

it("requests that start, cancel and resume runs name them", async () => {
  const waiting = await bench.deploy(
    flow(
      [
        { id: "approval-0", type: "approval", config: { message: "?" } },
        { id: "out-0", type: "output" },
      ],
      ["approval-0:approve>out-0"],
    ),
  );
  const { run_id } = await bench.start(waiting);
  await bench.until(run_id, "PAUSED");
  await bench.api.post(`/v2/runs/${run_id}/resume`, { action: "approve" });
  await bench.until(run_id);
  const other = await bench.start(waiting);
  await bench.until(other.run_id, "PAUSED");
  await bench.api.post(`/v2/runs/${other.run_id}/cancel`, { reason: "not needed" });
  await bench.until(other.run_id);
  await expect.poll(() => grep(other.run_id).map(({ msg }) => msg)).toContain("run finished");

  const named = (id: string, operation: string): Line[] =>
    grep(id).filter(
      (line) => line["operation"] === operation && line["run_id"] === id && line["project_id"] === waiting,
    );
  expect(named(run_id, "createRun")).toHaveLength(1);
  expect(named(run_id, "resumeRun")).toHaveLength(1);
  expect(named(other.run_id, "cancelRun")).toHaveLength(1);
  expect(grep(other.run_id).find(({ msg }) => msg === "run finished")).toMatchObject({
    state: "CANCELLED",
    reason: "not needed",
  });
});
