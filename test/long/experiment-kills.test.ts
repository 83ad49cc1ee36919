import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  startJob,
  experimentPath,
  makeDataset,
  makeEvaluator,
  makeExperiment,
  rowsPath,
  shouting,
} from "../api/evals/evals.ts";
import { openTenant } from "../api/tenant.ts";
import { install, type Installation } from "../kill/installation.ts";
import { recordKill } from "../kill/kill-table.ts";
import { shareOf } from "../support/long.ts";
import { eventually } from "../support/scratch.ts";

const ROWS = Number(process.env["MILLRACE_EXPERIMENT_ROWS"] ?? shareOf(1000));
const PARTS = ["worker", "api", "temporal", "postgres"] as const;

let installation: Installation;
beforeAll(async () => {
  installation = await install();
});
afterAll(() => installation?.close());

describe(`an experiment of ${ROWS} rows while each process is killed in turn`, () => {
  it("ends with exactly one result per row and repetition", async () => {
    const tenant = await openTenant(installation);
    const project_id = await tenant.deploy(shouting());
    const evaluator_ids = [
      await makeEvaluator(tenant, { name: "right", type: "exact_match" }),
      await makeEvaluator(tenant, { name: "free", type: "error_free" }),
    ];
    const dataset_id = await makeDataset(tenant);
    for (let from = 0; from < ROWS / 2; from += 500) {
      const rows = Array.from({ length: Math.min(500, ROWS / 2 - from) }, (_, n) => ({
        inputs: { "in-0": `row ${from + n}` },
        expected_outputs: { "out-0": `ROW ${from + n}` },
      }));
      expect((await tenant.secret.post(rowsPath(dataset_id), { rows })).status).toBe(201);
    }
    const id = await makeExperiment(tenant, {
      project_id,
      dataset_id,
      evaluator_ids,
      repetitions: 2,
      max_concurrency: 40,
    });
    const job_id = await startJob(tenant, id, { kind: "run" });
    const at = Date.now();
    const ended = async (): Promise<number> => {
      const [row] = await installation.sql<{ n: number }>(
        "select count(*)::int as n from experiment_rows where experiment_id = $1 and scored",
        [id],
      );
      return row?.n ?? 0;
    };
    for (const [index, what] of PARTS.entries()) {
      const wanted = (ROWS * (2 * index + 1)) / 10;
      await eventually(`${wanted} rows`, async () => (await ended()) >= wanted, 900_000);
      const part = what === "postgres" || what === "temporal" ? installation[what] : installation[what][0];
      await part?.kill();
      await delay(500);
      await part?.restart();
    }
    const job = await eventually(
      "the job ends",
      async () => {
        const answer = await tenant.secret.get(`${experimentPath(id)}/jobs/${job_id}`);
        return answer.status === 200 && !["PENDING", "RUNNING"].includes(answer.body.state) && answer.body;
      },
      900_000,
    );
    expect(job).toMatchObject({ state: "COMPLETED", progress: { done: ROWS, total: ROWS } });
    const { body: status } = await tenant.secret.get(`${experimentPath(id)}/status`);
    expect(status).toMatchObject({
      state: "COMPLETED",
      counts: { rows: ROWS, completed: ROWS, pending: 0, running: 0, failed: 0, cancelled: 0 },
      scores: { expected: 2 * ROWS, done: 2 * ROWS, errored: 0 },
      per_evaluator: [
        { n: ROWS, mean: 1, pass_rate: 1, errors: 0 },
        { n: ROWS, mean: 1, pass_rate: 1, errors: 0 },
      ],
    });
    const [found] = await installation.sql<Record<string, number>>(
      `select (select count(*)::int from runs where project_id = $2) as runs,
        (select count(*)::int from runs where project_id = $2 and state = 'COMPLETED') as completed,
        (select count(distinct (metadata->>'row_id', metadata->>'repetition'))::int from runs where project_id = $2) as places,
        (select count(distinct run_id)::int from experiment_rows where experiment_id = $1) as results,
        (select count(*)::int from scores where experiment_id = $1) as scores,
        (select count(*)::int from outbox where data->>'experiment_id' = $1::text) as events`,
      [id, project_id],
    );
    expect(found).toEqual({ runs: ROWS, completed: ROWS, places: ROWS, results: ROWS, scores: 2 * ROWS, events: 1 });
    expect(installation.logs()).not.toContain('"level":"fatal"');
    recordKill({
      killed: PARTS.join(", then "),
      when: `an experiment of ${ROWS} rows, at 10, 30, 50 and 70 % of them`,
      runs: ROWS,
      outcome: `COMPLETED after ${Math.round((Date.now() - at) / 1000)} s: one run, one result and one score of each evaluator a row and repetition`,
    });
  });
});
