import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { flow, openBench } from "../engine/support.ts";
import { startBalancer, type Balancer } from "../support/balancer.ts";
import { startHttpTarget, type HttpTarget } from "../support/http-target.ts";
import { eventually } from "../support/scratch.ts";
import { startServiceProcess, type ServiceProcess } from "../support/service-processes.ts";
import { client, startService, type OwnService } from "../support/service.ts";

let service: OwnService;
let target: HttpTarget;
let balancer: Balancer;
const newer: ServiceProcess[] = [];
beforeAll(async () => {
  [service, target, balancer] = await Promise.all([
    startService({ apis: 2, workers: 2, env: { MILLRACE_DRAIN_MS: "5000", MILLRACE_SHUTDOWN_GRACE_MS: "15000" } }),
    startHttpTarget(),
    startBalancer(200),
  ]);
});
afterAll(async () => {
  await Promise.all(newer.map((each) => each.kill()));
  await balancer?.close();
  await target?.close();
  await service?.close();
});

it("no request is rejected or fails while both apis and both workers are replaced under load", async () => {
  for (const { url } of service.api) balancer.add(url);
  const bench = await openBench(service);
  const inline = await bench.deploy(
    flow(
      [
        { id: "in-0", type: "input" },
        { id: "out-0", type: "output" },
      ],
      ["in-0>out-0"],
    ),
  );
  const asking = await bench.deploy(
    flow(
      [
        { id: "http-0", type: "http", config: { url: `${target.url}/asked` } },
        { id: "out-0", type: "output" },
      ],
      ["http-0>out-0"],
    ),
  );
  const caller = client(balancer, bench.secretKey);
  const calls = [
    () => caller.post(`/inference/v0/run/${bench.org_id}/${inline}`, { "in-0": "Ada" }),
    () => caller.post(`/inference/v0/run/${bench.org_id}/${asking}`, {}),
    () => caller.get("/v2/runs"),
    () => caller.post("/v2/runs", { project_id: inline, inputs: { "in-0": "Ada" }, mode: "async" }),
  ];
  const outcomes = new Map<string, number>();
  let over = false;
  const loops = calls.flatMap((call) =>
    Array.from({ length: 2 }, async () => {
      while (!over) {
        const outcome = await call().then(
          ({ status, body }) => `${status} ${body?.state ?? ""} ${status < 400 ? "" : JSON.stringify(body)}`.trim(),
          (error: unknown) => String(error),
        );
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
      }
    }),
  );
  const { stateDir } = inject("millrace");
  for (const old of service.api) {
    const next = await startServiceProcess("api", { ...service.env }, stateDir);
    newer.push(next);
    balancer.add(next.url);
    const before = balancer.sent(next.url);
    expect(await old.terminate(60_000)).toBe("exit code 0");
    balancer.remove(old.url);
    await eventually("the new one is called", () => balancer.sent(next.url) > before);
  }
  for (const old of service.worker) {
    newer.push(await startServiceProcess("worker", { ...service.env }, stateDir));
    expect(await old.terminate(60_000)).toBe("exit code 0");
  }
  over = true;
  await Promise.all(loops);
  console.log(Object.fromEntries(outcomes));
  expect([...outcomes.keys()].toSorted()).toEqual(["200", "200 COMPLETED", "201 PENDING"]);
  for (const old of service.api) expect(balancer.sent(old.url)).toBeGreaterThan(10);
});
