import { formSample } from "./form-sample.ts";
import { invocation, quoted } from "./shell.ts";

/** The action that needs no data. */
const REJECT = "reject";

/** The members of a run that the command line shows. */
export interface Run {
  readonly run_id: string;
  readonly project_id: string;
  readonly state: string;
  readonly state_reason: string | null;
  readonly outputs: Readonly<Record<string, unknown>> | null;
  readonly error: { readonly code: string; readonly message: string; readonly path: string | null } | null;
  readonly pauses: readonly {
    readonly pause_id: string;
    readonly message: string;
    readonly status: string;
    readonly form: Readonly<Record<string, unknown>> | null;
    readonly actions: readonly { readonly id: string }[];
  }[];
  readonly latency_ms: number | null;
  readonly created_at: string;
}

/** Whether a run failed or was cancelled. */
export function isFailure(run: Run): boolean {
  return run.state === "FAILED" || run.state === "CANCELLED";
}

/** A run as lines for a terminal: its state, and what it returned, waits for or failed with. */
export function describeRun(run: Run): string[] {
  const took = run.latency_ms === null ? "" : ` in ${run.latency_ms} ms`;
  const lines = [`${run.state}${took}${run.state_reason ? ` (${run.state_reason})` : ""}`];
  if (run.error) lines.push(`${run.error.path ?? "run"}: ${run.error.message} (${run.error.code})`);
  for (const [node, value] of Object.entries(run.outputs ?? {})) {
    const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
    lines.push(`${node}:`, ...text.split("\n").map((line) => `  ${line}`));
  }
  for (const pause of run.pauses.filter((each) => each.status === "waiting")) {
    lines.push(`waits: ${pause.message}`);
    for (const { id } of pause.actions) {
      const data =
        pause.form === null || id === REJECT ? "" : ` --data ${quoted(JSON.stringify(formSample(pause.form)))}`;
      const answer = `--pause ${pause.pause_id} --action ${quoted(id)}${data}`;
      lines.push(`  ${invocation()} runs resume ${run.run_id} ${answer}`);
    }
  }
  return lines;
}
