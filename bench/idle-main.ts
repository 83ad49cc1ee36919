// npm run bench:idle: memory, processor time and transactions of api and worker while they are idle, after one run of each example. Figures
// are in bench/idle.md.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { apiClient, type ApiClient } from "../src/cli/api-client.ts";
import { deployExamples, deploySearchingExamples, readFlows } from "../src/dev/demo.ts";
import { startModelStub, STUB_MODEL } from "../src/dev/model-stub.ts";
import { PACKAGE_ROOT } from "../src/dev/package-root.ts";
import { openStage, residentMib } from "./stage.ts";

/** Idle children are closed after a minute, and freed memory is returned to the system. */
const SETTLE_MS = 75_000;
const IDLE_MS = 60_000;
/** The kernel counts processor time in hundredths of a second. */
const TICKS = 100;

const stage = await openStage({ durable: false });
const stub = await startModelStub();
const folder = mkdtempSync(join(tmpdir(), "millrace-idle-"));
try {
  const [api, worker] = await Promise.all([stage.api(), stage.worker()]);
  const processes = [
    { name: "api", pid: api.pid },
    { name: "worker", pid: worker.pid },
  ];
  report("after the start", processes);
  await runExamples(apiClient({ url: api.url, key: stage.key }), api.url);
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
  await Promise.all([stage.close(), stub.close()]);
  rmSync(folder, { recursive: true, force: true });
}

/** Deploys the examples like `npm start`, runs each on its first input, and approves runs that pause. Prints the results. */
async function runExamples(api: ApiClient, url: string): Promise<void> {
  const model = { name: "stub", provider_id: "openai_compatible", scheme: "none" };
  const credential = { base_url: `${stub.url}/v1` };
  const { connection_id } = await api.post<{ connection_id: string }>("/v2/connections", { ...model, credential });
  await api.patch("/v2/settings", { default_connection_id: connection_id, default_model: STUB_MODEL });
  const examples = join(PACKAGE_ROOT, "examples");
  const options = { api, url, org_id: stage.org_id, examples, stateFile: join(folder, "examples.json") };
  const { projects } = await deployExamples(options);
  const searching = await deploySearchingExamples(options);
  for (const { name, examples: known } of await readFlows(options)) {
    const project_id = { ...projects, ...searching.projects }[name];
    // The inference API expects the user in the same object as the inputs.
    const { user_id, ...inputs } = known?.[0]?.inputs ?? {};
    const run = { project_id, inputs, user_id, mode: "sync", wait_seconds: 60 };
    const { run_id, state } = await api.post<{ run_id: string; state: string }>("/v2/runs", run);
    const answer = { action: "approve", data: { signature: "Ada" } };
    if (state === "PAUSED")
      await api
        .post(`/v2/runs/${run_id}/resume`, answer)
        .catch(() => api.post(`/v2/runs/${run_id}/resume`, { action: "approve" }));
    const { state: end } = await api.get<{ state: string }>(`/v2/runs/${run_id}`, { wait_seconds: 60 });
    console.log(`${name}: ${end}`);
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
