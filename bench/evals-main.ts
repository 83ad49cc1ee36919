// npm run bench:evals [rows]: an experiment compared with plain runs of the same flow on the same processes, reads while it runs, an import
// of 100 000 rows, and statistics over a million scores. MILLRACE_BENCH_ROWS rows (default 2000).
import { Client, Connection } from "@temporalio/client";
import { setTimeout as delay } from "node:timers/promises";
import { importRows, scoreQueries } from "./evals-data.ts";
import { inlineFlow } from "./flows.ts";
import { quantile, throughput } from "./measure.ts";
import { openStage, request } from "./stage.ts";

const ROWS = Number(process.env["MILLRACE_BENCH_ROWS"] ?? 2000);
const IMPORTED = Number(process.env["MILLRACE_BENCH_IMPORTED"] ?? 100_000);
const SCORES = Number(process.env["MILLRACE_BENCH_SCORES"] ?? 1_000_000);
const CONCURRENCY = 40;

const stage = await openStage({ durable: false });
try {
  const [api] = await Promise.all([stage.api(), stage.worker()]);
  const call = (path: string, body?: unknown): Promise<unknown> => request(`${api.url}/v2/${path}`, stage.key, body);
  const project_id = await stage.deploy(api, inlineFlow);
  const plain = (): Promise<unknown> => call("runs", { project_id, inputs: { "in-0": "Ada" }, mode: "sync" });
  await throughput(plain, CONCURRENCY, 200);
  const before = await throughput(plain, CONCURRENCY, ROWS / 4);

  const evaluators = [
    { name: "equal", type: "exact_match" },
    { name: "near", type: "levenshtein" },
    { name: "free", type: "error_free" },
  ];
  const evaluator_ids: string[] = [];
  for (const evaluator of evaluators)
    evaluator_ids.push(((await call("evals/evaluators", evaluator)) as { evaluator_id: string }).evaluator_id);
  const { dataset_id } = (await call("evals/datasets", { name: "rows" })) as { dataset_id: string };
  await importRows(call, dataset_id, ROWS);
  const made = await call("evals/experiments", {
    name: "bench",
    project_id,
    dataset_id,
    evaluator_ids,
    max_concurrency: CONCURRENCY,
  });
  const { experiment_id } = made as { experiment_id: string };
  const path = `evals/experiments/${experiment_id}`;
  const began = performance.now();
  await call(`${path}/jobs`, { kind: "run" });
  const times: Record<"status" | "rows", number[]> = { status: [], rows: [] };
  for (let state = "QUEUED"; state === "QUEUED" || state === "RUNNING"; await delay(250)) {
    const at = performance.now();
    ({ state } = (await call(`${path}/status`)) as { state: string });
    const then = performance.now();
    await call(`${path}/rows?page_size=50`);
    times.status.push(then - at);
    times.rows.push(performance.now() - then);
  }
  const perSecond = ROWS / ((performance.now() - began) / 1000);
  const after = await throughput(plain, CONCURRENCY, ROWS / 4);
  const runs = (before + after) / 2;
  console.log(`plain runs: ${runs.toFixed(1)} a second (${before.toFixed(1)} before, ${after.toFixed(1)} after)`);
  console.log(
    `rows of an experiment of ${ROWS}, three evaluators: ${perSecond.toFixed(1)} a second, ${(perSecond / runs).toFixed(2)} of plain runs`,
  );
  for (const [name, taken] of Object.entries(times))
    console.log(
      `${name} meanwhile: p50 ${quantile(taken, 0.5).toFixed(0)} ms, p95 ${quantile(taken, 0.95).toFixed(0)} ms`,
    );

  const temporal = await Connection.connect({ address: stage.temporalAddress });
  const lanes = new Client({ connection: temporal }).workflow.list({ query: "WorkflowType = 'runExperimentLane'" });
  let [events, bytes] = [0, 0];
  for await (const lane of lanes) {
    events = Math.max(events, lane.historyLength);
    bytes = Math.max(bytes, lane.historySize ?? 0);
  }
  await temporal.close();
  console.log(`longest history of its workflows: ${events} events, ${(bytes / 2 ** 20).toFixed(2)} MiB`);

  const { dataset_id: long } = (await call("evals/datasets", { name: "many rows" })) as { dataset_id: string };
  console.log(`import of ${IMPORTED} rows: ${(await importRows(call, long, IMPORTED)).toFixed(1)} s`);
  for (const line of await scoreQueries(stage, call, { project_id, evaluator_ids, scores: SCORES })) console.log(line);
} finally {
  await stage.close();
}
