// npm run bench:cpu: processor time per run, by process. It varies less than wall time on a machine under other load.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { inlineFlow } from "./flows.ts";
import { latencies, median, throughput } from "./measure.ts";
import { openStage, request } from "./stage.ts";

const RUNS = 400;
const ROUNDS = 3;
/** The kernel counts in hundredths of a second. */
const TICK_MS = 10;

function fields(pid: number): string[] {
  return readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /s, "")
    .split(" ");
}

/** User and system time of a process so far (ms). */
function cpuMs(pid: number): number {
  const of = fields(pid);
  return (Number(of[11]) + Number(of[12])) * TICK_MS;
}

const stage = await openStage({ durable: false });
try {
  await stage.twin("worker");
  const twin = await stage.twin("api");
  const [api, worker] = await Promise.all([stage.api(), stage.worker()]);
  const inline = await stage.deploy(api, inlineFlow);
  const [backend] = await stage.db.system((db) => db.query<{ pid: number }>("select pg_backend_pid() as pid"));
  const postmaster = Number(fields(backend?.pid ?? 0)[1]);
  const postgres = (): number =>
    execFileSync("pgrep", ["-P", String(postmaster)], { encoding: "utf8" })
      .trim()
      .split("\n")
      .reduce((sum, pid) => sum + cpuMs(Number(pid)), 0);
  const meters: ReadonlyArray<readonly [string, () => number]> = [
    ["twin", () => cpuMs(twin.pid)],
    ["api", () => cpuMs(api.pid)],
    ["worker", () => cpuMs(worker.pid)],
    ["Temporal", () => cpuMs(stage.temporalPid)],
    ["Postgres", postgres],
  ];
  const contenders = [
    { name: "bare: empty", call: () => request(`${twin.url}/empty`, null) },
    { name: "inline flow", call: stage.call(api, inline, { "in-0": "Ada" }) },
  ];
  for (const { call } of contenders) await throughput(call, 30, RUNS / 2);
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const { name, call } of contenders) {
      const before = meters.map(([, read]) => read());
      const perSecond = await throughput(call, 30, RUNS);
      const spent = meters.map(([meter, read], at) => `${meter} ${((read() - (before[at] ?? 0)) / RUNS).toFixed(1)}`);
      console.log(`${name}: ${perSecond.toFixed(0)} a second; ms a run: ${spent.join(", ")}`);
    }
  }
  for (const { name, call } of contenders)
    console.log(`${name}: p50 ${median(await latencies(call, 150)).toFixed(1)} ms`);
} finally {
  await stage.close();
}
