// npm run bench:cpu: processor time per run, by process (MILLRACE_CHAINS=false: an activity for each slow node). It varies less than wall
// time on a machine with other load.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { startModelStub } from "../src/dev/model-stub.ts";
import { httpFlow, inlineFlow, through } from "./flows.ts";

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

// The server that http nodes call and that receives deliveries and traces.
const sink = createServer((asked, response) => void asked.resume().on("end", () => response.end()));
await new Promise<void>((resolve) => sink.listen(0, "127.0.0.1", resolve));
const sinkUrl = `http://127.0.0.1:${(sink.address() as AddressInfo).port}`;
const stub = await startModelStub();
stub.answer(() => ({ text: ["Fine."] }));
const stage = await openStage({ durable: false });
try {
  await stage.twin("worker");
  const twin = await stage.twin("api");
  const { MILLRACE_CHAINS = "true" } = process.env;
  const env = { MILLRACE_MODEL_URL: `${stub.url}/v1`, MILLRACE_MODEL: "stub", MILLRACE_CHAINS };
  const [api, plain, traced, worker] = await Promise.all([
    stage.api(env),
    // Without encryption of what Temporal stores.
    stage.api({ ...env, MILLRACE_PAYLOAD_ENCRYPTION: "read" }),
    stage.api({ ...env, MILLRACE_OTLP_ENDPOINT: sinkUrl }),
    stage.worker(env),
  ]);
  const llm = through({ id: "llm-0", type: "llm", config: { prompt: "{{in-0}}" } });
  const [inline, http, model, announced] = await Promise.all(
    [inlineFlow, httpFlow(sinkUrl), llm, inlineFlow].map((flow) => stage.deploy(api, flow)),
  );
  await request(`${api.url}/v2/webhooks/subscriptions`, stage.key, {
    url: sinkUrl,
    events: ["run.completed"],
    filter: { project_id: [announced] },
  });
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
    ["plain api", () => cpuMs(plain.pid)],
    ["traced api", () => cpuMs(traced.pid)],
    ["worker", () => cpuMs(worker.pid)],
    ["Temporal", () => cpuMs(stage.temporalPid)],
    ["Postgres", postgres],
  ];
  const contenders = [
    { name: "bare: empty", call: () => request(`${twin.url}/empty`, null), runs: RUNS },
    { name: "inline flow", call: stage.call(api, inline ?? "", { "in-0": "Ada" }), runs: RUNS },
    { name: "inline flow, not encrypted", call: stage.call(plain, inline ?? "", { "in-0": "Ada" }), runs: RUNS },
    { name: "inline flow, traced", call: stage.call(traced, inline ?? "", { "in-0": "Ada" }), runs: RUNS },
    { name: "inline flow, one delivery", call: stage.call(api, announced ?? "", { "in-0": "Ada" }), runs: RUNS },
    { name: "bare: three regular activities", call: () => request(`${twin.url}/threeRegular`, null), runs: RUNS / 2 },
    { name: "three http nodes", call: stage.call(api, http ?? "", {}), runs: RUNS / 2 },
    { name: "one call of a model", call: stage.call(api, model ?? "", { "in-0": "Ada" }), runs: RUNS / 2 },
  ];
  for (const { call } of contenders) await throughput(call, 30, RUNS / 4);
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const { name, call, runs } of contenders) {
      const before = meters.map(([, read]) => read());
      const perSecond = await throughput(call, 30, runs);
      // Wait for the deliveries, which follow their runs.
      await delay(1000);
      const spent = meters.map(([meter, read], at) => `${meter} ${((read() - (before[at] ?? 0)) / runs).toFixed(1)}`);
      console.log(`${name}: ${perSecond.toFixed(0)} a second; ms a run: ${spent.join(", ")}`);
    }
  }
  for (const { name, call } of contenders.slice(0, 4))
    console.log(`${name}: p50 ${median(await latencies(call, 150)).toFixed(1)} ms`);
} finally {
  await stage.close();
  await stub.close();
  sink.close();
}
