// npm run bench:idle: memory, processor time and transactions of api and worker while nothing happens, after one run of
// each example. Figures are in bench/idle.md.
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { PACKAGE_ROOT } from "../src/dev/package-root.ts";
import { openStage, request, residentMib } from "./stage.ts";

/** Idle children are closed after a minute, and freed memory goes back to the system. */
const SETTLE_MS = 75_000;
const IDLE_MS = 60_000;
/** The kernel counts processor time in hundredths of a second. */
const TICKS = 100;

interface Flow {
  readonly examples?: ReadonlyArray<{ readonly inputs: Record<string, unknown> }>;
}

const stage = await openStage({ durable: false });
try {
  const [api, worker] = await Promise.all([stage.api(), stage.worker()]);
  const processes = [
    { name: "api", pid: api.pid },
    { name: "worker", pid: worker.pid },
  ];
  report("after the start", processes);
  for (const [name, flow] of exampleFlows()) console.log(`${name}: ${await runOnce(api.url, flow)}`);
  report("after one run of each example", processes);
  await delay(SETTLE_MS);
  report("later", processes);

  const [transactions, cpu] = [await committed(), processes.map(({ pid }) => cpuSeconds(pid))];
  await delay(IDLE_MS);
  const seconds = IDLE_MS / 1000;
  console.log(`transactions a second: ${(((await committed()) - transactions) / seconds).toFixed(2)}`);
  for (const [at, { name, pid }] of processes.entries()) {
    const share = ((cpuSeconds(pid) - (cpu[at] ?? 0)) / seconds) * 100;
    console.log(`${name}: ${share.toFixed(1)} % of a core`);
  }
} finally {
  await stage.close();
}

function exampleFlows(): Array<[string, Flow]> {
  const folder = join(PACKAGE_ROOT, "examples/flows");
  const files = readdirSync(folder).filter((file) => file.endsWith(".json"));
  return files.map((file) => [file, JSON.parse(readFileSync(join(folder, file), "utf8")) as Flow]);
}

/** Deploys a flow and runs its first example. Answers the state, or the error: some need a model or another service. */
async function runOnce(url: string, flow: Flow): Promise<string> {
  try {
    const { project_id } = (await request(`${url}/v2/projects`, stage.key, { name: "x", flow, publish: true })) as {
      project_id: string;
    };
    const inputs = flow.examples?.[0]?.inputs ?? {};
    const run = await request(`${url}/v2/runs`, stage.key, { project_id, inputs, mode: "sync", wait_seconds: 30 });
    return (run as { state: string }).state;
  } catch (error) {
    return String(error).slice(0, 200);
  }
}

async function committed(): Promise<number> {
  const [row] = await stage.db.system((db) =>
    db.query<{ n: number }>(
      "select (xact_commit + xact_rollback)::int as n from pg_stat_database where datname = current_database()",
    ),
  );
  return row?.n ?? 0;
}

function report(when: string, processes: ReadonlyArray<{ readonly name: string; readonly pid: number }>): void {
  for (const { name, pid } of processes) {
    const below = descendants(pid).map((child) => residentMib(child).toFixed(0));
    console.log(`${when}: ${name} ${residentMib(pid).toFixed(0)} MiB; children ${below.join(" + ") || "none"}`);
  }
}

function descendants(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ");
  return children.filter((child) => child !== "").flatMap((child) => [Number(child), ...descendants(Number(child))]);
}

/** The processor time of a process and its children. */
function cpuSeconds(pid: number): number {
  const all = [pid, ...descendants(pid)].map((each) => {
    const fields = readFileSync(`/proc/${each}/stat`, "utf8")
      .replace(/^.*\) /s, "")
      .split(" ");
    return (Number(fields[11]) + Number(fields[12])) / TICKS;
  });
  return all.reduce((sum, seconds) => sum + seconds, 0);
}
