import { afterAll, beforeAll, expect, it } from "vitest";
import { flow, openBench } from "../../engine/support.ts";
import { startHttpTarget, type HttpTarget } from "../../support/http-target.ts";
import { startService, type OwnService } from "../../support/service.ts";

let service: OwnService;
let target: HttpTarget;
beforeAll(async () => {
  service = await startService({ env: { LOG_LEVEL: "debug" } });
  target = await startHttpTarget();
});
afterAll(async () => {
  await target.close();
  await service.close();
});

it("a process writes only lines of JSON, including messages from Temporal's native code", async () => {
  const bench = await openBench(service);
  const release = target.hold("/held");
  const asking = flow(
    [
      { id: "http-0", type: "http", config: { method: "GET", url: `${target.url}/held` } },
      { id: "out-0", type: "output" },
    ],
    ["http-0>out-0"],
  );
  const { run_id } = await bench.start(await bench.deploy(asking));
  await expect.poll(() => target.requests.length).toBe(1);
  await bench.api.post(`/v2/runs/${run_id}/cancel`, { mode: "terminate" });
  // The node finishes only after its run has ended.
  release();
  await expect.poll(() => service.logs()).toContain("Activity not found on completion");
  for (const each of [...service.api, ...service.worker]) expect(await each.terminate()).toBe("exit code 0");

  const lines = service.logs().trimEnd().split("\n");
  expect(lines.filter((line) => !/^{.*}$/.test(line))).toEqual([]);
  const entries = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(entries).toContainEqual(
    expect.objectContaining({
      level: "debug",
      service: "worker",
      component: "temporal",
      msg: expect.stringContaining("Activity not found on completion") as unknown,
    }),
  );
});
