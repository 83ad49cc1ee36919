import type { ExperimentView } from "../../api/evals/experiments.ts";
import type { ExperimentRowView, StatusView } from "../../api/evals/experiment-results.ts";
import type { ApiClient } from "../api-client.ts";
import { itemsOf } from "../listing.ts";

/** The rows of an experiment as JUnit XML: a case for each row, which fails if one of its scores does, and one for each gate. */
export async function junitOf(
  api: ApiClient,
  experiment: Pick<ExperimentView, "experiment_id" | "name">,
  status: StatusView,
): Promise<string> {
  const names = new Map(status.per_evaluator.map(({ evaluator_id, name }) => [evaluator_id, name]));
  const cases: string[] = [];
  let failures = 0;
  let errors = 0;
  const path = `/v2/evals/experiments/${experiment.experiment_id}/rows`;
  for await (const row of itemsOf<ExperimentRowView>(api, path, { order: "asc" })) {
    const failed = row.scores.filter(({ passed }) => passed === false);
    const broken = row.scores.filter(({ error }) => error !== null);
    const name = `${row.external_id ?? row.row_id}${row.repetition > 1 ? ` (${row.repetition})` : ""}`;
    const texts = [
      ...(row.error === null ? [] : [`${row.error.code}: ${row.error.message}`]),
      ...broken.map(({ evaluator_id, error }) => `${names.get(evaluator_id)}: ${error?.code}: ${error?.message}`),
      ...failed.map(
        ({ evaluator_id, value, reasoning }) =>
          `${names.get(evaluator_id)}: ${JSON.stringify(value)} ${reasoning ?? ""}`,
      ),
    ];
    const isError = row.error !== null || broken.length > 0;
    if (isError) errors += 1;
    else if (failed.length > 0) failures += 1;
    cases.push(testCase("rows", name, isError ? "error" : failed.length > 0 ? "failure" : null, texts, row.latency_ms));
  }
  for (const { metric, op, value, vs, observed, passed, evaluator_id, unscored } of status.gates) {
    const whose = names.get(evaluator_id ?? "");
    const name = `${metric}${whose === undefined ? "" : ` of ${whose}`} ${op} ${value}${vs === "baseline" ? " against baseline" : ""}`;
    if (passed !== true) failures += 1;
    const missing = unscored === 0 ? "" : ` (${unscored} scores are missing)`;
    const seen = `observed: ${observed ?? "nothing"}${missing}`;
    cases.push(testCase("gates", name, passed === true ? null : "failure", [seen], null));
  }
  const counts = `tests="${cases.length}" failures="${failures}" errors="${errors}"`;
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites ${counts}>\n<testsuite name="${escaped(experiment.name)}" ${counts}>\n${cases.join("\n")}\n</testsuite>\n</testsuites>\n`;
}

function testCase(
  group: string,
  name: string,
  outcome: "failure" | "error" | null,
  texts: readonly string[],
  ms: number | null,
): string {
  const head = `<testcase classname="${group}" name="${escaped(name)}" time="${((ms ?? 0) / 1000).toFixed(3)}"`;
  if (outcome === null) return `${head}/>`;
  return `${head}><${outcome} message="${escaped(texts[0] ?? "")}">${escaped(texts.join("\n"))}</${outcome}></testcase>`;
}

/** Text for XML 1.0, which allows no control characters except tab and line ends. */
function escaped(text: string): string {
  return (
    text
      .toWellFormed()
      // oxlint-disable-next-line no-control-regex
      .replaceAll(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd")
      .replaceAll("&", "&amp;")
      .replaceAll("<", "&lt;")
      .replaceAll(">", "&gt;")
      .replaceAll('"', "&quot;")
  );
}
