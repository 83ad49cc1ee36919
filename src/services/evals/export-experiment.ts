import { publicState, type ExperimentJobInput } from "../../domain/evals/experiment.ts";
import type { Json, JsonObject } from "../../domain/json.ts";
import { ANY_LENGTH } from "../../platform/blobs/blobs.ts";
import { csvHeader, csvLine, textStream, type Cell } from "../../platform/records.ts";
import { pinnedEvaluators } from "../../stores/evals/evaluators.ts";
import { endJob, findJob } from "../../stores/evals/experiment-jobs.ts";
import { listExperimentRows, type ScoredRow } from "../../stores/evals/experiment-results.ts";
import { findExperiment } from "../../stores/evals/experiments.ts";
import { inPortions } from "../../stores/in-portions.ts";
import type { Keyset } from "../../stores/keyset.ts";
import { loadValues } from "./samples.ts";
import type { Parts } from "../parts.ts";

const ALL_ROWS = { state: null, row_id: null };
/** Fields of a row, which are the first columns. */
const OWN_COLUMNS = [
  "row_id",
  "external_id",
  "repetition",
  "run_id",
  "state",
  "error",
  "latency_ms",
  "cost_usd",
  "inputs",
  "expected_outputs",
  "outputs",
] as const;

/** Writes the rows of an experiment with their scores into a file, which ends the job. */
export async function exportExperiment(
  { db, blobs }: Parts<"db" | "blobs">,
  { org_id, experiment_id, job_id }: ExperimentJobInput,
): Promise<void> {
  const found = await db.org(org_id, async (connection) => {
    const experiment = await findExperiment(connection, experiment_id);
    const job = await findJob(connection, job_id);
    return experiment && job && { job, evaluators: await pinnedEvaluators(connection, experiment.evaluators) };
  });
  if (found === null || found.job.blob_key !== null) return;
  const { job, evaluators } = found;
  let done = 0;

  async function* rows(): AsyncGenerator<ScoredRow> {
    const fetch = (page: Keyset): Promise<ScoredRow[]> =>
      db.orgRead(org_id, (connection) => listExperimentRows(connection, experiment_id, ALL_ROWS, page), true);
    for await (const portion of inPortions(fetch, ({ place }) => String(place), { beyond: null, ascending: true })) {
      yield* portion.rows;
      done += portion.rows.length;
    }
  }

  async function* csv(): AsyncGenerator<string> {
    yield csvHeader([...OWN_COLUMNS, ...scoreColumns(evaluators)]);
    for await (const row of rows()) {
      const outputs = await loadValues(blobs, row.outputs ?? {});
      const scores = evaluators.flatMap(({ evaluator_id }) => {
        const score = row.scores.find((each) => each.evaluator_id === evaluator_id);
        return [cell(score?.value), cell(score?.passed), score?.error?.code];
      });
      const shown = { ...row, state: publicState(row.state), error: row.error?.code, outputs };
      yield csvLine([...OWN_COLUMNS.map((name) => cell(shown[name])), ...scores]);
    }
  }

  async function* jsonl(): AsyncGenerator<string> {
    for await (const { place: _, ...row } of rows()) {
      const outputs = row.outputs && (await loadValues(blobs, row.outputs));
      yield `${JSON.stringify({ ...row, state: publicState(row.state), outputs })}\n`;
    }
  }

  const content = textStream(job.options.format === "csv" ? csv() : jsonl());
  const { key } = await blobs.put(org_id, content as AsyncIterable<Uint8Array>, { maxBytes: ANY_LENGTH });
  const ended = await db.org(org_id, (connection) =>
    endJob(connection, job_id, { state: "completed", done, errors: [], blob_key: key }),
  );
  if (!ended) await blobs.delete(key);
}

/** Three columns per evaluator, named after it; its ID is added if the name alone is already taken. */
function scoreColumns(evaluators: ReadonlyArray<{ readonly evaluator_id: string; readonly name: string }>): string[] {
  const columnsOf = (name: string) => [name, `${name} passed`, `${name} error`];
  const used = new Map<string, number>();
  for (const column of [...OWN_COLUMNS, ...evaluators.flatMap(({ name }) => columnsOf(name))])
    used.set(column, (used.get(column) ?? 0) + 1);
  return evaluators.flatMap(({ evaluator_id, name }) => {
    const columns = columnsOf(name);
    return columns.some((column) => used.get(column) !== 1) ? columnsOf(`${name} (${evaluator_id})`) : columns;
  });
}

function cell(value: Json | JsonObject | undefined): Cell {
  return value === undefined || value === null ? undefined : typeof value === "string" ? value : JSON.stringify(value);
}
