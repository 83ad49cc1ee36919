import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { flow, nodesOf, openBench } from "../engine/support.ts";
import { CARELESS, changedBuild, PATCHED } from "../support/changed-build.ts";
import { historiesOf, replay, withTemporal } from "../support/histories.ts";
import { eventually } from "../support/scratch.ts";
import { startServiceProcess, type ServiceProcess } from "../support/service-processes.ts";
import { client, startService, type OwnService } from "../support/service.ts";
import { recordKill } from "../kill/kill-table.ts";

let service: OwnService;
let builds: { readonly patched: string; readonly careless: string };
const newer: ServiceProcess[] = [];
beforeAll(async () => {
  service = await startService();
  builds = { patched: changedBuild(PATCHED), careless: changedBuild(CARELESS) };
});
afterAll(async () => {
  await Promise.all(newer.map((each) => each.kill()));
  await service?.close();
});

const out = (from: string) => ({ id: "out-0", type: "output", config: { value: `{{${from}}}` } });
const waits = flow(
  [
    { id: "in-0", type: "input" },
    { id: "delay-0", type: "delay", config: { seconds: 3 } },
    { id: "approval-0", type: "approval", config: { message: "?" } },
    { id: "delay-1", type: "delay", config: { seconds: 0.1 } },
    out("delay-1"),
  ],
  ["in-0>delay-0", "delay-0>approval-0", "approval-0:approve>delay-1", "delay-1>out-0"],
);
const quick = flow([{ id: "delay-0", type: "delay", config: { seconds: 0.1 } }, out("delay-0")], ["delay-0>out-0"]);

describe("an upgrade that changes a workflow's commands", () => {
  it("continues runs that started on older code, while new runs use the new code", async () => {
    const before = await openBench(service);
    const [waiting, short] = await Promise.all([before.deploy(waits), before.deploy(quick)]);
    const { run_id: inPause } = await before.start(waiting, { "in-0": "a" });
    await before.until(inPause, "PAUSED");
    const { run_id: inDelay } = await before.start(waiting, { "in-0": "b" });
    await eventually("the other one waits", async () => {
      const { body } = await before.api.get(`/v2/runs/${inDelay}`, { query: { expand: "nodes" } });
      return nodesOf(body)["delay-0"]?.state === "RUNNING";
    });
    const old = await before.run(quick);
    expect(old.outputs["out-0"]).toMatch(/^\d{4}-/);

    // The old processes are killed, and new ones take over their work.
    await Promise.all([...service.api, ...service.worker].map((each) => each.kill()));
    const { stateDir } = inject("millrace");
    newer.push(await startServiceProcess("worker", service.env, stateDir, builds.patched));
    newer.push(await startServiceProcess("api", service.env, stateDir, builds.patched));
    const api = client({ url: newer[1]?.url ?? "" }, before.secretKey);
    const get = async (id: string) => (await api.get(`/v2/runs/${id}`, { query: { wait_seconds: 20 } })).body;

    const { body: fresh } = await api.post("/v2/runs", { project_id: short, inputs: {}, mode: "sync" });
    expect(fresh).toMatchObject({ state: "COMPLETED", outputs: { "out-0": expect.stringMatching(/^newer code, /) } });

    for (const id of [inPause, inDelay]) {
      await eventually("it asks", async () => (await get(id)).state === "PAUSED");
      expect((await api.post(`/v2/runs/${id}/resume`, { action: "approve" })).status).toBe(202);
      // The old code started the run's first delay, the new code its second.
      expect(await get(id)).toMatchObject({
        state: "COMPLETED",
        outputs: { "out-0": expect.stringMatching(/^newer code, /) },
      });
      const { body } = await api.get(`/v2/runs/${id}`, { query: { expand: "nodes" } });
      expect(nodesOf(body)["delay-0"]?.output).toMatch(/^\d{4}-/);
    }

    // Without the patch, these runs could not have continued.
    const histories = await withTemporal(service.temporalAddress, async (each) =>
      (await Promise.all([inDelay, inPause].map((id) => historiesOf(each, id)))).flat(),
    );
    expect(await replay(histories, join(builds.patched, "workflow-bundle.js"))).toEqual({});
    const failures = await replay(histories, join(builds.careless, "workflow-bundle.js"));
    expect(Object.values(failures)).toEqual(histories.map(() => expect.stringMatching(/determinis/i)));
    recordKill({
      killed: "every api and worker, replaced by newer code",
      when: "a delay and an open approval started by older code",
      runs: 4,
      outcome:
        "runs of the older code COMPLETED by the newer, which serves new runs its own way; without the patch their replay fails",
    });
  });
});
