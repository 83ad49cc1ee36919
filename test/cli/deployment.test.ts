import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { flow, openBench } from "../engine/support.ts";
import type { Bench } from "../engine/support.ts";
import { eventually } from "../support/scratch.ts";
import { startServiceProcess } from "../support/service-processes.ts";
import type { ServiceProcess } from "../support/service-processes.ts";
import { client, startService } from "../support/service.ts";
import type { OwnService } from "../support/service.ts";
import { millrace } from "./millrace.ts";

interface Status {
  readonly current: string | null;
  readonly ramping: { readonly build_id: string; readonly percentage: number } | null;
  readonly builds: ReadonlyArray<{ build_id: string; state: string; pollers: number; pinned: number }>;
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

let one: OwnService;
let bench: Bench;
const two: ServiceProcess[] = [];
beforeAll(async () => {
  one = await startService({ env: ofBuild("one") });
  bench = await openBench(one);
});
afterAll(async () => {
  await Promise.all(two.map((each) => each.kill()));
  await one?.close();
});

async function deployment(...args: string[]) {
  const { code, stdout, stderr } = await millrace(["deployment", ...args, "--json"], one.env);
  expect([code, stderr]).toEqual([0, ""]);
  return JSON.parse(stdout);
}
const status = (): Promise<Status> => deployment("status");
const pinnedTo = async (build: string) => (await status()).builds.find(({ build_id }) => build_id === build)?.pinned;
/** A process is ready before Temporal lists all its queues, and until then Temporal refuses its build. */
const routed = (...args: string[]) =>
  eventually(`${args.join(" ")} is accepted`, async () => {
    const { code, stderr } = await millrace(["deployment", ...args], one.env);
    if (code !== 0) expect(stderr).toMatch(/^Temporal refuses it: .+\nA build needs workers/);
    return code === 0;
  });
const setCurrent = (build: string) => routed("set-current", build);

it("begins runs on the current build, keeps them there, goes back and moves what is stranded", async () => {
  await setCurrent("one");
  const project = await bench.deploy(asks);
  const { run_id: old } = await bench.start(project);
  await bench.until(old, "PAUSED");
  await eventually("it stays on one", async () => (await pinnedTo("one")) === 1);

  const { stateDir } = inject("millrace");
  for (const kind of ["api", "worker"] as const)
    two.push(await startServiceProcess(kind, { ...one.env, ...ofBuild("two") }, stateDir));
  await eventually(
    "two polls",
    async () => ((await status()).builds.find((b) => b.build_id === "two")?.pollers ?? 0) > 0,
  );
  // A build that is not current gets nothing, not even by an api of its own.
  const apiOfTwo = client({ url: two[0]?.url ?? "" }, bench.secretKey);
  const { body: early } = await apiOfTwo.post("/v2/runs", { project_id: project, inputs: {} });
  await bench.until(early.run_id, "PAUSED");
  await eventually("it began on one", async () => (await pinnedTo("one")) === 2);

  await routed("ramp", "two", "--percentage", "100");
  expect((await status()).ramping).toEqual({ build_id: "two", percentage: 100 });
  await deployment("ramp", "two", "--percentage", "0");
  expect((await status()).ramping).toBeNull();

  await setCurrent("two");
  // An api of one may begin runs there until it has asked again.
  const young: string[] = [];
  await eventually("runs begin on two", async () => {
    const { run_id } = await bench.start(project);
    young.push(run_id);
    await bench.until(run_id, "PAUSED");
    return ((await pinnedTo("two")) ?? 0) > 0;
  });
  await setCurrent("one");
  expect(await status()).toMatchObject({ current: "one" });

  // The workers of two are gone: its run stands still until it is moved.
  await Promise.all(two.map((each) => each.kill()));
  const moving = (await pinnedTo("two")) ?? 0;
  expect(await deployment("move", "--from", "two", "--to", "one")).toEqual({ moved: moving });
  for (const id of [old, early.run_id, ...young]) {
    expect((await bench.api.post(`/v2/runs/${id}/resume`, { action: "approve" })).status).toBe(202);
    await bench.until(id, "COMPLETED");
  }
});

it("says what is missing where there is no deployment, and refuses half of a version", async () => {
  const without = { ...one.env, MILLRACE_DEPLOYMENT: "", MILLRACE_BUILD_ID: "" };
  const missing = await millrace(["deployment", "status"], without);
  expect([missing.code, missing.stderr]).toEqual([2, expect.stringContaining("MILLRACE_DEPLOYMENT")]);
  const half = await millrace(["deployment", "status"], { ...one.env, MILLRACE_BUILD_ID: "" });
  expect([half.code, half.stderr]).toEqual([1, expect.stringContaining("MILLRACE_BUILD_ID")]);
  const unknown = await millrace(["deployment", "set-current", "a b"], one.env);
  expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining("build")]);
});
