import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { flow, openBench, type Bench } from "../engine/support.ts";
import { startHttpTarget, type HttpTarget } from "../support/http-target.ts";
import { startServiceProcess, type ServiceProcess } from "../support/service-processes.ts";
import { startService, type OwnService } from "../support/service.ts";

let service: OwnService;
let target: HttpTarget;
let bench: Bench;
const workers: ServiceProcess[] = [];
beforeAll(async () => {
  service = await startService({ workers: 0, env: { MILLRACE_API_WORKER: "false" } });
  target = await startHttpTarget();
  bench = await openBench(service);
});
afterAll(async () => {
  await Promise.all(workers.map((worker) => worker.kill()));
  await target?.close();
  await service?.close();
});

async function startWorker(queues: string): Promise<void> {
  const env = { ...service.env, MILLRACE_WORKER_QUEUES: queues };
  workers.push(await startServiceProcess("worker", env, inject("millrace").stateDir));
}

it("a worker takes work only from its own queues", async () => {
  await startWorker("runs");
  const asking = await bench.deploy(
    flow(
      [
        { id: "http-0", type: "http", config: { url: `${target.url}/status?code=200` } },
        { id: "out-0", type: "output", config: { value: "{{http-0.status}}" } },
      ],
      ["http-0>out-0"],
    ),
  );
  const run = await bench.start(asking);
  const admin = bench.api;
  const queues = async () => {
    const { body } = await admin.get("/v2/queues");
    return body.queues.map((each: Record<string, unknown>) => [
      each["queue"],
      each["type"],
      each["workers"],
      each["backlog"],
    ]);
  };
  // The flow has reached the node, but no worker executes it.
  await expect.poll(queues).toEqual([
    ["runs", "workflow", 1, 0],
    ["nodes", "activity", 0, 1],
    ["ingest", "workflow", 0, 0],
    ["ingest", "activity", 0, 0],
    ["background", "workflow", 0, 0],
    ["background", "activity", 0, 0],
    ["webhooks", "activity", 0, expect.any(Number)],
    ["house", "activity", 0, expect.any(Number)],
  ]);
  expect(target.requests).toEqual([]);
  await startWorker("nodes,webhooks");
  await expect
    .poll(async () => (await admin.get(`/v2/runs/${run.run_id}`)).body)
    .toMatchObject({
      state: "COMPLETED",
      outputs: { "out-0": "200" },
    });
});
