import type { z } from "zod";
import type { RunView, runWithNodesSchema } from "../api/runs/run-presenter.ts";
import { assigneesText } from "../domain/runs/assignees.ts";
import { table } from "./options.ts";
import { plainText } from "./terminal.ts";
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

type Schema = Readonly<Record<string, unknown>>;

/** A sample value for a form: its required fields, using defaults, examples and bounds. */
export function formSample(form: unknown): unknown {
  if (typeof form !== "object" || form === null) return "...";
  const schema = form as Schema;
  const [example] = Array.isArray(schema["examples"]) ? (schema["examples"] as unknown[]) : [];
  const [choice] = Array.isArray(schema["enum"]) ? (schema["enum"] as unknown[]) : [];
  const given = schema["const"] ?? schema["default"] ?? example ?? choice;
  if (given !== undefined) return given;
  const type = Array.isArray(schema["type"]) ? schema["type"][0] : schema["type"];
  const properties = (schema["properties"] ?? {}) as Schema;
  switch (type ?? (schema["properties"] === undefined ? undefined : "object")) {
    case "object": {
      const required = Array.isArray(schema["required"]) ? (schema["required"] as string[]) : [];
      return Object.fromEntries(required.map((name) => [name, formSample(properties[name] ?? {})]));
    }
    case "array":
      return Array.from({ length: Number(schema["minItems"] ?? 0) }, () => formSample(schema["items"]));
    case "integer":
    case "number":
      return Number(schema["minimum"] ?? 0);
    case "boolean":
      return true;
    case "null":
      return null;
    default:
      return textSample(schema);
  }
}

const FORMATS: Readonly<Record<string, string>> = {
  date: "2026-01-31",
  "date-time": "2026-01-31T12:00:00Z",
  time: "12:00:00Z",
  email: "ada@example.com",
  uri: "https://example.com",
  uuid: "00000000-0000-7000-8000-000000000000",
};

function textSample(schema: Schema): string {
  const text = FORMATS[String(schema["format"])] ?? "...";
  const long = text.padEnd(Number(schema["minLength"] ?? 0), ".");
  return long.slice(0, Number(schema["maxLength"] ?? long.length));
}
