import type { z } from "zod";
import type { RunView, runWithNodesSchema } from "../api/runs/run-presenter.ts";
import { assigneesText } from "../domain/runs/assignees.ts";
import { formSample } from "./form-sample.ts";
import { table } from "./options.ts";
import { plainText } from "./plain-text.ts";
import { invocation, quoted } from "./shell.ts";

/** The action of a pause that needs no data. */
const REJECT = "reject";

export type RunWithNodes = z.infer<typeof runWithNodesSchema>;

/** Whether a run failed or was cancelled. */
export function isFailure(run: RunView): boolean {
  return run.state === "FAILED" || run.state === "CANCELLED";
}

/** A run as lines for a terminal: its state, and its outputs, pauses or error. */
export function describeRun(run: RunView): string[] {
  const took = run.latency_ms === null ? "" : ` in ${run.latency_ms} ms`;
  const lines = [`${run.state}${took}${run.state_reason ? ` (${run.state_reason})` : ""}`];
  if (run.error) lines.push(`${run.error.path ?? "run"}: ${run.error.message} (${run.error.code})`);
  for (const [node, value] of Object.entries(run.outputs ?? {})) {
    const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
    lines.push(`${node}:`, ...text.split("\n").map((line) => `  ${line}`));
  }
  for (const pause of run.pauses.filter((each) => each.status === "waiting")) {
    lines.push(`waiting for approval: ${pause.message}`);
    if (pause.assignees)
      lines.push(`  only these users can answer (API keys cannot): ${assigneesText(pause.assignees)}`);
    for (const { id } of pause.actions) {
      const data =
        pause.form === null || id === REJECT ? "" : ` --data ${quoted(JSON.stringify(formSample(pause.form)))}`;
      const answer = `--pause ${pause.pause_id} --action ${quoted(id)}${data}`;
      lines.push(`  ${invocation()} runs resume ${run.run_id} ${answer}`);
    }
  }
  return lines;
}

/** When a run was created, started and finished. */
export function describeTimes({ run_id, created_at, started_at, finished_at }: RunWithNodes): string[] {
  const times = [
    `created ${created_at}`,
    started_at === null ? "not started" : `started ${started_at}`,
    ...(finished_at === null ? [] : [`finished ${finished_at}`]),
  ];
  return [`run ${run_id}`, times.join(", ")];
}

/** The nodes of a run as a table: when each started, in ms after the run, and its duration. */
export function describeNodes({ created_at, nodes = [], nodes_truncated }: RunWithNodes): string[] {
  if (nodes.length === 0) return [];
  const since = (from: string | null, to: string | null): string =>
    from === null || to === null ? "" : String(Date.parse(to) - Date.parse(from));
  return [
    "",
    ...table([
      ["NODE", "KIND", "STATE", "ATTEMPTS", "STARTED MS", "DURATION MS", "ERROR"],
      ...nodes.map((node) => [
        node.path,
        node.type,
        node.state,
        String(node.attempts),
        since(created_at, node.started_at),
        since(node.started_at, node.finished_at),
        plainText(node.error?.message ?? "")
          .replaceAll("\n", " ")
          .slice(0, 80),
      ]),
    ]),
    ...(nodes_truncated === true ? ["(more nodes are not shown)"] : []),
    "",
  ];
}
