import { access, constants, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Command } from "@commander-js/extra-typings";
import type { ExperimentView } from "../../api/evals/experiments.ts";
import type { StatusView } from "../../api/evals/experiment-results.ts";
import { isUuid } from "../../domain/uuid.ts";
import type { ApiClient } from "../api-client.ts";
import { createFromFile, readEvalFile } from "./eval-file.ts";
import { junitOf } from "./eval-junit.ts";
import { CommandFailure } from "../failure.ts";
import { apiCommand, openApi, show, table } from "../options.ts";
import { invocation } from "../shell.ts";
import { styled, untilInterrupted } from "../terminal.ts";

/** Without gates a pipeline would succeed whatever the scores are. */
const NOTHING_GATED =
  "nothing was gated: the experiment has no gates, so it can neither pass nor fail. Add `gates` to the file or the experiment.";

const POLL_MS = 500;
const ACTIVE = ["QUEUED", "RUNNING"];

/** `eval run`. */
export function addEvalCommands(program: Command): void {
  const evals = program.command("eval").description("experiments: run a flow on a dataset and score it");
  apiCommand(
    evals,
    "run",
    "run an experiment and wait for its verdict: exits with 0 if it is complete and its gates are met, 3 if it has no gates, else 1",
  )
    .argument("<experiment|file>", "experiment ID, or a YAML or JSON file that describes an experiment")
    .option("--junit <file>", "write the scores of the rows as JUnit XML")
    .action(async (what, options) => {
      const { api } = openApi(options);
      if (options.junit !== undefined) await requireWritable(options.junit);
      const id = isUuid(what) ? what : await createFromFile(api, await readEvalFile(what));
      const experiment = await untilInterrupted(
        () => runToEnd(api, id, options.json !== true),
        `The experiment continues. Follow it: ${invocation()} eval run ${id}`,
      );
      const status = await api.get<StatusView>(`/v2/evals/experiments/${id}/status`);
      show(options.json, { ...experiment, status }, () => linesOf(experiment, status));
      if (options.junit !== undefined) await writeFile(options.junit, await junitOf(api, experiment, status));
      // The error has already been shown.
      if (experiment.state !== "COMPLETED") throw new CommandFailure("");
      if (experiment.verdict === null) throw new CommandFailure(NOTHING_GATED, 3);
      if (experiment.verdict !== "passed") throw new CommandFailure("");
    });
}

/** An experiment may cost money and hours, so an unusable report path is reported before it starts. */
async function requireWritable(file: string): Promise<void> {
  try {
    const existing = await stat(file).catch(() => undefined);
    if (existing?.isDirectory() === true) throw new Error("it is a directory");
    await access(existing === undefined ? dirname(file) : file, constants.W_OK);
  } catch (error) {
    throw new CommandFailure(`Cannot write --junit ${file}: ${(error as Error).message}`, 2);
  }
}

async function runToEnd(api: ApiClient, id: string, isWatched: boolean): Promise<ExperimentView> {
  const path = `/v2/evals/experiments/${id}`;
  if ((await api.get<ExperimentView>(path)).state === "DRAFT") await api.post(`${path}/jobs`, { kind: "run" });
  for (let shown = ""; ;) {
    const experiment = await api.get<ExperimentView>(path);
    if (isWatched) {
      const line = progressLine(await api.get<StatusView>(`${path}/status`));
      if (line !== shown) process.stderr.write(process.stderr.isTTY ? `\r\u001b[K${line}` : `${line}\n`);
      shown = line;
    }
    if (!ACTIVE.includes(experiment.state)) {
      if (isWatched && process.stderr.isTTY) process.stderr.write("\n");
      return experiment;
    }
    await sleep(POLL_MS);
  }
}

function progressLine({ state, counts, eta_seconds }: StatusView): string {
  const { rows, pending, running, failed } = counts;
  const eta = eta_seconds === null ? "" : `, about ${eta_seconds} s left`;
  return `${state.toLowerCase()}: ${rows - pending - running} of ${rows} rows${failed > 0 ? `, ${failed} failed` : ""}${eta}`;
}

function linesOf(
  { experiment_id, name, state, verdict, unscored, error }: ExperimentView,
  status: StatusView,
): string[] {
  const compared = status.per_evaluator.some(({ baseline }) => baseline !== null);
  const head = [
    "evaluator",
    "n",
    "mean",
    "95 %",
    "passed",
    "errors",
    ...(compared ? ["against baseline", "better", "worse", "same"] : []),
  ];
  const rows = status.per_evaluator.map((each) => {
    const { baseline } = each;
    const own = [
      each.name,
      String(each.n),
      number(each.mean),
      interval(each.ci95),
      percent(each.pass_rate),
      String(each.errors),
    ];
    if (baseline === null) return compared ? [...own, "", "", "", ""] : own;
    const difference = baseline.diff === null ? "-" : `${signed(baseline.diff)} ${interval(baseline.ci95)}`;
    return [...own, difference, String(baseline.improved), String(baseline.regressed), String(baseline.unchanged)];
  });
  const gates = status.gates.map((gate) => {
    const { metric, op, value, vs, observed, passed, unscored } = gate;
    const whose = status.per_evaluator.find(({ evaluator_id }) => evaluator_id === gate.evaluator_id);
    const what = `${metric}${whose === undefined ? "" : ` of ${whose.name}`}${vs === "baseline" ? " against baseline" : ""}`;
    const missing = unscored === 0 ? "" : ` (${unscored} of ${whose?.expected ?? 0} scores are missing)`;
    const text = `${what} ${op} ${value}: ${number(observed)}${missing}`;
    return passed === true
      ? styled("green", `pass  ${text}`)
      : styled("red", `${passed === null ? "?" : "FAIL"}  ${text}`);
  });
  const { rows: total, completed, failed } = status.counts;
  return [
    `${name} (${experiment_id})`,
    `${state}${error === null ? "" : `: ${error.message}`}; ${completed} of ${total} rows completed, ${failed} failed; cost ${number(status.usage.cost_usd)} USD`,
    ...(rows.length > 0 ? ["", ...table([head, ...rows])] : []),
    ...(gates.length > 0 ? ["", ...gates] : []),
    ...(unscored ? ["", `${unscored} of ${status.scores.expected} scores are missing`] : []),
    ...(verdict === null ? [] : ["", `verdict: ${verdict}`]),
  ];
}

function number(value: number | null): string {
  return value === null ? "-" : String(Math.round(value * 10_000) / 10_000);
}

function signed(value: number): string {
  return value > 0 ? `+${number(value)}` : number(value);
}

function percent(value: number | null): string {
  return value === null ? "-" : `${(value * 100).toFixed(1)} %`;
}

function interval(ci95: readonly number[] | null): string {
  return ci95 === null ? "" : `[${ci95.map(number).join(", ")}]`;
}
