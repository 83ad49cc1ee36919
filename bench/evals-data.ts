import { setTimeout as delay } from "node:timers/promises";
import { quantile } from "./measure.ts";
import type { Stage } from "./stage.ts";

type Call = (path: string, body?: unknown) => Promise<unknown>;

/** Imports this many rows as CSV; returns how long that took (s). */
export async function importRows(call: Call, datasetId: string, rows: number): Promise<number> {
  const lines = Array.from({ length: rows }, (_, n) => `name ${n},NAME ${n}`);
  const source = { type: "csv", text: `name,shout\n${lines.join("\n")}\n` };
  const mapping = { inputs: { "in-0": "name" }, expected_outputs: { "out-0": "shout" } };
  const began = performance.now();
  const { import_id } = (await call(`evals/datasets/${datasetId}/imports`, { source, mapping })) as {
    import_id: string;
  };
  for (;;) {
    const { status, counts } = (await call(`evals/datasets/${datasetId}/imports/${import_id}`)) as {
      status: string;
      counts: { created: number };
    };
    if (status === "completed" && counts.created === rows) return (performance.now() - began) / 1000;
    if (status === "failed" || status === "completed") throw new Error(`the import is ${status}`);
    await delay(100);
  }
}

const DAYS = 90;
const REPEATED = 40;

/** Gives a monitor this many scores in the last ninety days, and measures its statistics. */
export async function scoreQueries(
  stage: Stage,
  call: Call,
  { project_id, evaluator_ids, scores }: { project_id: string; evaluator_ids: readonly string[]; scores: number },
): Promise<string[]> {
  const made = await call("evals/monitors", { name: "bench", project_id, evaluator_ids, enabled: false });
  const { monitor_id } = made as { monitor_id: string };
  await stage.db.system(async (db) => {
    await db.query(
      {
        text: `insert into eval_monitor_scores (monitor_id, run_id, evaluator_id, evaluator_version, org_id, flow_version, ended_at, number, passed, failed)
          select $1::uuid, gen_random_uuid(), ($2::uuid[])[1 + n % cardinality($2::uuid[])], 1, $3::uuid, 1,
            now() - n * make_interval(days => $5::int) / $4::int, random(), random() < 0.9, false
          from generate_series(0, $4::int - 1) n`,
        query_timeout: 600_000,
      },
      [monitor_id, evaluator_ids, stage.org_id, scores, DAYS],
    );
    await db.query("vacuum analyze eval_monitor_scores");
  });
  const lines: string[] = [];
  for (const [days, granularity] of [
    [1, "hour"],
    [7, "day"],
    [30, "day"],
    [DAYS / 2, "week"],
  ] as const) {
    const from = new Date(Date.now() - days * 86_400_000).toISOString();
    const query = `from=${from}&granularity=${granularity}&evaluator_id=${evaluator_ids[0]}`;
    const taken: number[] = [];
    let n = 0;
    for (let time = 0; time < REPEATED; time++) {
      const at = performance.now();
      const stats = await call(`evals/monitors/${monitor_id}/score-stats?${query}`);
      taken.push(performance.now() - at);
      ({ n } = (stats as { totals: { n: number } }).totals);
    }
    lines.push(
      `score-stats of ${days} days by ${granularity}, ${n} scores of ${scores}: p50 ${quantile(taken, 0.5).toFixed(0)} ms, p95 ${quantile(taken, 0.95).toFixed(0)} ms`,
    );
  }
  return lines;
}
