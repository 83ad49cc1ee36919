import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { millrace } from "../cli/millrace.ts";
import { flow, nodesOf, openBench, type Bench, type Run } from "../engine/support.ts";
import { recordKill } from "../kill/kill-table.ts";
import { CARELESS, changedBuild } from "../support/changed-build.ts";
import type { TestClient } from "../support/client.ts";
import { historiesOf, replay, withTemporal } from "../support/histories.ts";
import { eventually } from "../support/scratch.ts";
import { startServiceProcess, type ServiceProcess } from "../support/service-processes.ts";
import { client, startService, type OwnService } from "../support/service.ts";

const DEPLOYMENT = `test-${randomBytes(6).toString("hex")}`;
const ofBuild = (build: string) => ({ MILLRACE_DEPLOYMENT: DEPLOYMENT, MILLRACE_BUILD_ID: build });
/** Callers that start a run as soon as their last one has finished, and waiting runs of each kind in each phase. */
const CALLERS = 3;
const WAITING = 4;

const quick = flow(
  [
    { id: "delay-0", type: "delay", config: { seconds: 0.1 } },
    { id: "out-0", type: "output", config: { value: "{{delay-0}}" } },
  ],
  ["delay-0>out-0"],
);
const waits = (seconds: number) =>
  flow(
    [
      { id: "delay-0", type: "delay", config: { seconds } },
      { id: "approval-0", type: "approval", config: { message: "?" } },
      { id: "delay-1", type: "delay", config: { seconds: 0.1 } },
      { id: "out-0", type: "output", config: { value: "{{delay-1}}" } },
    ],
    ["delay-0>approval-0", "approval-0:approve>delay-1", "delay-1>out-0"],
  );
type Build = "one" | "two";
/** The second release changes the output of a delay, which identifies it. */
const buildOf = (output: unknown): Build => (String(output).startsWith("newer code, ") ? "two" : "one");

let service: OwnService;
let bench: Bench;
let careless: string;
const two: ServiceProcess[] = [];
beforeAll(async () => {
  service = await startService({ env: ofBuild("one") });
  bench = await openBench(service);
  careless = changedBuild(CARELESS);
});
afterAll(async () => {
  await Promise.all(two.map((each) => each.kill()));
  await service?.close();
});

const deployment = (...args: string[]) =>
  eventually(`deployment ${args.join(" ")}`, async () => {
    return (await millrace(["deployment", ...args], service.env)).code === 0;
  });

/** Keeps starting runs and waits for them, until `stop`. */
function load(project: string) {
  const ended: Array<{ run: Run; ms: number; phase: string }> = [];
  const now = { api: bench.api, phase: "", stopped: false };
  const callers = Array.from({ length: CALLERS }, async () => {
    while (!now.stopped) {
      const { phase, api } = now;
      const from = performance.now();
      const { body } = await api.post("/v2/runs", { project_id: project, inputs: {}, mode: "sync" });
      ended.push({ run: body as Run, ms: performance.now() - from, phase });
    }
  });
  const builds = (phase: string): Build[] =>
    ended.filter((each) => each.phase === phase).map(({ run }) => buildOf(run.outputs?.["out-0"]));
  return {
    ended,
    builds,
    /** Continues through the given API, and waits until `enough` of its runs have finished. */
    async phase(name: string, api: TestClient, enough: (builds: Build[]) => boolean): Promise<void> {
      Object.assign(now, { phase: name, api });
      await eventually(`enough runs of phase ${name}`, () => enough(builds(name)));
    },
    async stop(): Promise<void> {
      now.stopped = true;
      await Promise.all(callers);
    },
  };
}

it("with two incompatible releases no run fails, and each finishes on the build where it started", async () => {
  await deployment("set-current", "one");
  const [short, asking, delayed] = await Promise.all([quick, waits(0.1), waits(8)].map((each) => bench.deploy(each)));
  if (!short || !asking || !delayed) throw new Error("not deployed");
  const traffic = load(short);
  const open: Array<{ id: string; build: Build }> = [];
  /** Half of them wait for an approval, half are in their delay. */
  const beginWaiting = async (api: TestClient, build: Build) => {
    for (let index = 0; index < WAITING * 2; index += 1) {
      const project_id = index < WAITING ? asking : delayed;
      const { body } = await api.post("/v2/runs", { project_id, inputs: {} });
      open.push({ id: body.run_id, build });
      if (index < WAITING) await bench.until(body.run_id, "PAUSED");
    }
  };
  const many = (builds: Build[]): boolean => builds.length >= 20;
  await traffic.phase("one", bench.api, many);
  await beginWaiting(bench.api, "one");

  const { stateDir } = inject("millrace");
  for (const kind of ["worker", "api"] as const)
    two.push(await startServiceProcess(kind, { ...service.env, ...ofBuild("two") }, stateDir, careless));
  const apiOfTwo = client({ url: two[1]?.url ?? "" }, bench.secretKey);
  await traffic.phase("two beside one", apiOfTwo, many);
  expect(new Set(traffic.builds("two beside one"))).toEqual(new Set(["one"]));

  await deployment("ramp", "two", "--percentage", "50");
  await traffic.phase("ramp", apiOfTwo, (builds) => builds.includes("one") && builds.includes("two"));

  const switching = performance.now();
  await deployment("set-current", "two");
  // A run that started before the route changed may still belong to build one.
  const lastTwo = (builds: Build[]): boolean =>
    builds.length > 20 && builds.slice(-20).every((build) => build === "two");
  await traffic.phase("switch", apiOfTwo, lastTwo);
  const switched = performance.now() - switching;
  await traffic.phase("two", apiOfTwo, many);
  expect(new Set(traffic.builds("two"))).toEqual(new Set(["two"]));
  await beginWaiting(apiOfTwo, "two");
  // These are decided while the other release is current.
  for (const { id } of open.slice(0, WAITING / 2))
    expect((await apiOfTwo.post(`/v2/runs/${id}/resume`, { action: "approve" })).status).toBe(202);

  const goingBack = performance.now();
  await deployment("set-current", "one");
  const lastOne = (builds: Build[]): boolean =>
    builds.length > 20 && builds.slice(-20).every((build) => build === "one");
  await traffic.phase("rollback", bench.api, lastOne);
  const wentBack = performance.now() - goingBack;
  await traffic.phase("one again", bench.api, many);
  expect(new Set(traffic.builds("one again"))).toEqual(new Set(["one"]));
  await traffic.stop();

  for (const { id } of open.slice(WAITING / 2)) {
    await bench.until(id, "PAUSED");
    expect((await bench.api.post(`/v2/runs/${id}/resume`, { action: "approve" })).status).toBe(202);
  }
  for (const { id, build } of open) {
    const run = await bench.until(id, "COMPLETED");
    const nodes = nodesOf(run);
    expect([nodes["delay-0"], nodes["delay-1"]].map((node) => buildOf(node?.output))).toEqual([build, build]);
  }
  expect(traffic.ended.filter(({ run }) => run.state !== "COMPLETED")).toEqual([]);

  // Without versioning, the second release could not have continued the runs of the first.
  const olds = open.filter(({ build }) => build === "one").map(({ id }) => id);
  const histories = await withTemporal(service.temporalAddress, async (each) =>
    (await Promise.all(olds.map((id) => historiesOf(each, id)))).flat(),
  );
  const failures = await replay(histories, join(careless, "workflow-bundle.js"));
  expect(Object.values(failures)).toEqual(histories.map(() => expect.stringMatching(/determinis/i)));

  const p95 = (phase: string): number => {
    const sorted = traffic.ended.filter((each) => each.phase === phase).map(({ ms }) => ms);
    return Math.round(sorted.toSorted((a, b) => a - b)[Math.floor(sorted.length * 0.95)] ?? 0);
  };
  const times = ["one", "two beside one", "ramp", "switch", "two", "rollback", "one again"].map(
    (phase) => `${phase} ${traffic.builds(phase).length} (p95 ${p95(phase)} ms)`,
  );
  process.stdout.write(
    `versions: ${traffic.ended.length} short runs: ${times.join(", ")}; switch within ${Math.round(switched)} ms, back within ${Math.round(wentBack)} ms\n`,
  );
  recordKill({
    killed: "nothing: a second release beside the first, and back",
    when: "load, open approvals and delays of both releases",
    runs: traffic.ended.length + open.length,
    outcome:
      "every run COMPLETED on the release that it began on; the second could not have continued those of the first",
  });
});
