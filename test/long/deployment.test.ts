import { randomBytes } from "node:crypto";
import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { findTemporal } from "../../src/dev/temporal-binary.ts";
import { startTemporal, type RunningTemporal } from "../../src/dev/temporal.ts";
import { flow, openBench, type Bench } from "../engine/support.ts";
import { readMetrics } from "../support/metrics.ts";
import { eventually } from "../support/scratch.ts";
import { startServiceProcess, type ServiceProcess } from "../support/service-processes.ts";
import { client, startService, type OwnService } from "../support/service.ts";
import { millrace } from "../cli/millrace.ts";

interface Status {
  readonly current: string | null;
  readonly ramping: { readonly build_id: string; readonly percentage: number } | null;
  readonly builds: ReadonlyArray<{
    build_id: string;
    state: string;
    pollers: number;
    unpolled: string[];
    pinned: number;
  }>;
}

const DEPLOYMENT = `test-${randomBytes(6).toString("hex")}`;
const ofBuild = (build: string) => ({ MILLRACE_DEPLOYMENT: DEPLOYMENT, MILLRACE_BUILD_ID: build });
const asks = flow(
  [
    { id: "approval-0", type: "approval", config: { message: "?" } },
    { id: "out-0", type: "output", config: { value: "done" } },
  ],
  ["approval-0:approve>out-0"],
);

let temporal: RunningTemporal;
let one: OwnService;
let bench: Bench;
const started: ServiceProcess[] = [];
const services: OwnService[] = [];
beforeAll(async () => {
  temporal = await startTemporal({
    binary: await findTemporal({ say: () => undefined }),
    dir: mkdtempSync(join(inject("millrace").stateDir, "temporal-of-builds-")),
    uiPort: null,
    // Temporal must forget a poller within seconds instead of minutes, which requires more frequent polls.
    dynamicConfig: ['matching.longPollExpirationInterval="2s"', 'matching.PollerHistoryTTL="10s"'],
  });
  one = await serve(ofBuild("one"));
  bench = await openBench(one);
});
afterAll(async () => {
  await Promise.all(started.map((each) => each.kill()));
  for (const each of services) await each.close();
  await temporal?.stop();
});

async function serve(env: Record<string, string>): Promise<OwnService> {
  const service = await startService({ env }, { ...inject("millrace"), temporalAddress: temporal.address });
  services.push(service);
  return service;
}

/** An API and a worker of another build, beside those of an installation. */
async function beside(service: OwnService, version: Record<string, string>): Promise<ServiceProcess[]> {
  const { stateDir } = inject("millrace");
  const processes = await Promise.all(
    (["api", "worker"] as const).map((kind) => startServiceProcess(kind, { ...service.env, ...version }, stateDir)),
  );
  started.push(...processes);
  return processes;
}

async function deployment(...args: string[]) {
  return deploymentOf(one.env, ...args);
}
async function deploymentOf(env: Readonly<Record<string, string>>, ...args: string[]) {
  const { code, stdout, stderr } = await millrace(["deployment", ...args, "--json"], env);
  expect([code, stderr]).toEqual([0, ""]);
  return JSON.parse(stdout);
}
const status = (): Promise<Status> => deployment("status");
const pinnedTo = async (build: string) => (await status()).builds.find(({ build_id }) => build_id === build)?.pinned;
/** A process is ready before Temporal lists all its queues, and until then its build is rejected. */
const routed = (...args: string[]) => routedOf(one.env, ...args);
const routedOf = (env: Readonly<Record<string, string>>, ...args: string[]) =>
  eventually(`${args.join(" ")} is accepted`, async () => {
    const { code, stderr } = await millrace(["deployment", ...args], env);
    if (code !== 0)
      expect(stderr).toMatch(/cannot take runs|^Temporal rejected the change: .+\nThe workers of a build/);
    return code === 0;
  });
/** The findings of `doctor` about builds. */
async function findings(): Promise<ReadonlyArray<{ state: string; text: string; advice?: string }>> {
  const { stdout } = await millrace(["doctor", "--json"], one.env);
  return JSON.parse(stdout).findings.filter(({ part }: { part: string }) => part === "Builds");
}
const stranded = async (): Promise<number> => {
  const [worker] = one.worker;
  const line = /^millrace_workflows_stranded(?:\{.*\})? (\d+)$/m.exec(worker ? await readMetrics(worker) : "");
  return Number(line?.[1]);
};
const setCurrent = (build: string) => routed("set-current", build);

/** Paused runs of both builds; each test continues with those of the previous one. */
const waiting: string[] = [];
let project: string;
let two: ServiceProcess[];

it("starts runs on the current build only", async () => {
  await eventually("the doctor sees the build", async () => (await findings())[0]?.state === "warning");
  expect((await findings())[0]?.advice).toContain("set-current");
  await setCurrent("one");
  expect(await findings()).toEqual([expect.objectContaining({ state: "ok" })]);
  expect(await stranded()).toBe(0);
  project = await bench.deploy(asks);
  waiting.push((await bench.start(project)).run_id);
  await bench.until(waiting[0] ?? "", "PAUSED");
  await eventually("it stays on one", async () => (await pinnedTo("one")) === 1);

  const unknown = await millrace(["deployment", "ramp", "two", "--percentage", "5"], one.env);
  expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringContaining("none of its processes has polled yet")]);
  two = await beside(one, ofBuild("two"));
  await eventually(
    "two polls",
    async () => ((await status()).builds.find((b) => b.build_id === "two")?.pollers ?? 0) > 0,
  );
  // A build that is not current gets no runs, not even from its own API.
  const apiOfTwo = client({ url: two[0]?.url ?? "" }, bench.secretKey);
  const { body: early } = await apiOfTwo.post("/v2/runs", { project_id: project, inputs: {} });
  waiting.push(early.run_id);
  await bench.until(early.run_id, "PAUSED");
  await eventually("it began on one", async () => (await pinnedTo("one")) === 2);
});

it("sends a share of new runs to a build, then all, and none after switching back", async () => {
  await routed("ramp", "two", "--percentage", "100");
  expect((await status()).ramping).toEqual({ build_id: "two", percentage: 100 });
  await deployment("ramp", "two", "--percentage", "0");
  expect((await status()).ramping).toBeNull();

  await setCurrent("two");
  // An API may still start runs on the earlier build until its next check.
  await eventually("runs begin on two", async () => {
    const { run_id } = await bench.start(project);
    waiting.push(run_id);
    await bench.until(run_id, "PAUSED");
    return ((await pinnedTo("two")) ?? 0) > 0;
  });
  await setCurrent("one");
  expect(await status()).toMatchObject({ current: "one" });
});

it("reports runs of a build that has no workers, sends it no new runs, and moves them", async () => {
  await Promise.all(two.map((each) => each.kill()));
  const moving = (await pinnedTo("two")) ?? 0;
  await eventually("it is seen", async () => (await findings())[0]?.state === "problem");
  expect(await findings()).toEqual([
    expect.objectContaining({
      text: expect.stringMatching(
        new RegExp(`^${moving} workflows are pinned to build two, but no worker polls .*of nodes`),
      ),
      advice: expect.stringContaining("move --from two"),
    }),
  ]);
  expect((await millrace(["deployment", "status"], one.env)).stdout).toMatch(/^two .*STRANDED/m);
  await eventually("the gauge shows it", async () => (await stranded()) === moving);
  // Nothing may be routed to a build without workers.
  for (const args of [
    ["ramp", "two", "--percentage", "10"],
    ["set-current", "two"],
    ["move", "--from", "one", "--to", "two"],
  ]) {
    const { code, stderr } = await millrace(["deployment", ...args], one.env);
    expect([args[0], code, stderr]).toEqual([args[0], 1, expect.stringContaining("Start its api and workers first")]);
  }
  expect(await status()).toMatchObject({ current: "one", ramping: null });

  expect(await deployment("move", "--from", "two", "--to", "one")).toEqual({ moved: moving });
  for (const id of waiting) {
    expect((await bench.api.post(`/v2/runs/${id}/resume`, { action: "approve" })).status).toBe(202);
    await bench.until(id, "COMPLETED");
  }
  expect(await findings()).toEqual([expect.objectContaining({ state: "ok" })]);
  await eventually("the gauge is back", async () => (await stranded()) === 0);
});

it("without a deployment again, new runs start on unversioned processes, and runs of the build stay on it", async () => {
  const plain = await serve({});
  const version = { MILLRACE_DEPLOYMENT: `${DEPLOYMENT}-first`, MILLRACE_BUILD_ID: "one" };
  const env = { ...plain.env, ...version };
  const pinned = async (): Promise<number> => (await deploymentOf(env, "status")).builds[0].pinned;
  const own = await openBench(plain);
  const project = await own.deploy(asks);
  const begin = async () => {
    const run = await own.start(project);
    await own.until(run.run_id, "PAUSED");
    return run.run_id;
  };
  const runs = [await begin()];
  const [api] = await beside(plain, version);
  const versioned = client({ url: api?.url ?? "" }, own.secretKey);
  await routedOf(env, "set-current", "one");
  await eventually("runs begin on the build", async () => {
    const { body } = await versioned.post("/v2/runs", { project_id: project, inputs: {} });
    runs.push(body.run_id);
    await own.until(body.run_id, "PAUSED");
    return (await pinned()) > 0;
  });
  expect(await deploymentOf(env, "unset")).toEqual({ current: null });
  expect((await deploymentOf(env, "status")).current).toBeNull();
  // An API of the build may still start runs on it until its next check.
  await eventually("runs begin without a build", async () => {
    const before = await pinned();
    const { body } = await versioned.post("/v2/runs", { project_id: project, inputs: {} });
    runs.push(body.run_id);
    await own.until(body.run_id, "PAUSED");
    return (await pinned()) === before;
  });
  for (const id of runs) {
    expect((await own.api.post(`/v2/runs/${id}/resume`, { action: "approve" })).status).toBe(202);
    await own.until(id, "COMPLETED");
  }
});

it("names the missing setting if there is no deployment, and rejects an incomplete version", async () => {
  const without = { ...one.env, MILLRACE_DEPLOYMENT: "", MILLRACE_BUILD_ID: "" };
  const missing = await millrace(["deployment", "status"], without);
  expect([missing.code, missing.stderr]).toEqual([2, expect.stringContaining("MILLRACE_DEPLOYMENT")]);
  const half = await millrace(["deployment", "status"], { ...one.env, MILLRACE_BUILD_ID: "" });
  expect([half.code, half.stderr]).toEqual([1, expect.stringContaining("MILLRACE_BUILD_ID")]);
  const unknown = await millrace(["deployment", "set-current", "a b"], one.env);
  expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining("build")]);
});
