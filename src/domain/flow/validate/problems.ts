import type { z } from "zod";
import type { FlowLimits } from "../definition/limits.ts";

/** Every code a problem of a flow can have. Stable: clients and editors branch on them. */
export type FlowProblemCode =
  // The document
  | "not_json"
  | "too_deep"
  | "too_large"
  | "forbidden_key"
  | "missing"
  | "wrong_type"
  | "unknown_member"
  | "out_of_range"
  | "invalid_value"
  // Nodes
  | "bad_id"
  | "duplicate_id"
  | "reserved_id"
  | "unknown_kind"
  | "kind_not_allowed"
  | "invalid_config"
  | "invalid_code"
  | "invalid_form"
  | "setting_ignored"
  | "missing_default_output"
  | "secret_in_flow"
  // What a flow refers to
  | "unknown_knowledge_base"
  | "unknown_connection"
  | "unknown_provider"
  | "unknown_action"
  | "unknown_skill"
  | "unknown_project"
  | "unknown_user"
  | "assignee_cannot_answer"
  | "too_few_assignees"
  | "calls_itself"
  | "model_not_configured"
  | "model_not_priced"
  | "connection_required"
  | "unknown_input"
  | "missing_input"
  // Edges and the graph
  | "unknown_node"
  | "unknown_handle"
  | "dead_handle"
  | "error_edge_without_branch"
  | "error_branch_unconnected"
  | "self_edge"
  | "duplicate_edge"
  | "edge_into_input"
  | "cycle"
  | "no_output"
  | "output_without_source"
  | "unused_node"
  // Expressions
  | "invalid_expression"
  | "expression_too_long"
  | "reads_unknown_node"
  | "reads_later_node"
  // The whole
  | "too_many_nodes"
  | "nesting_too_deep"
  | "plan_too_large"
  | "flow_too_costly"
  | "invalid_redact_path"
  | "invalid_example"
  | "too_many_problems";

export type Path = ReadonlyArray<string | number>;

/** One thing that is wrong with a flow, or (a warning) is probably a mistake. */
export interface FlowProblem {
  readonly code: FlowProblemCode;
  /** A flow with an error cannot be deployed. */
  readonly severity: "error" | "warning";
  /** The node it concerns; null if it concerns none, or one with an unusable id. */
  readonly node_id: string | null;
  /** The node's id after the ids of the maps and loops around it, e.g. "map-0/guard-0"; null if there is no node. */
  readonly node_path: string | null;
  /** Members and positions that lead to the place in the flow. */
  readonly path: Path;
  readonly message: string;
  /** How to fix it, if that is known. */
  readonly hint: string | null;
}

/** The input for one problem; `node_id` and `hint` are null, and the severity error, unless given. */
export interface Finding {
  readonly code: FlowProblemCode;
  readonly path: Path;
  readonly message: string;
  readonly severity?: "error" | "warning";
  readonly node_id?: string | null;
  readonly hint?: string | undefined;
}

/** Most problems listed; a hostile document can contain any number. */
const MAX_PROBLEMS = 1000;

/** Collects problems; those beyond the limit are only counted. */
export interface ProblemList {
  add(finding: Finding): void;
  readonly hasErrors: boolean;
  all(): FlowProblem[];
}

/** Makes a list of problems of a flow. */
export function createProblemList(flow: unknown): ProblemList {
  const problems: FlowProblem[] = [];
  let omitted = 0;
  let errors = 0;
  return {
    add({ code, path, message, severity = "error", node_id = null, hint }) {
      if (severity === "error") errors += 1;
      if (problems.length >= MAX_PROBLEMS) omitted += 1;
      else
        problems.push({ code, severity, node_id, node_path: nodePath(flow, path), path, message, hint: hint ?? null });
    },
    get hasErrors() {
      return errors > 0;
    },
    all() {
      if (omitted === 0) return problems;
      const message = `${omitted} more problems are not listed`;
      const severity = errors > 0 ? ("error" as const) : ("warning" as const);
      const place = { node_id: null, node_path: null, path: [] };
      return [...problems, { code: "too_many_problems", severity, ...place, message, hint: null }];
    },
  };
}

/** The ids of the nodes that a path in a flow leads through: "map-0/guard-0"; null where it meets none, or none that has an id. */
export function nodePath(flow: unknown, path: Path): string | null {
  const ids: string[] = [];
  let value = flow;
  for (const [index, step] of path.entries()) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, step)) break;
    value = (value as Readonly<Record<string | number, unknown>>)[step];
    if (path[index - 1] !== "nodes" || typeof step !== "number") continue;
    const id = (value as { readonly id?: unknown } | null | undefined)?.id;
    if (typeof id !== "string") return null;
    ids.push(shorten(id));
  }
  return ids.length === 0 ? null : ids.join("/");
}

/** Makes schema issues carry their input, which distinguishes missing values from wrong ones. */
export const WITH_INPUT = { reportInput: true } as const;

/** Adds the issues of a schema (parsed WITH_INPUT), one problem for each unknown member. */
export function addSchemaIssues(
  problems: ProblemList,
  issues: readonly z.core.$ZodIssue[],
  place: { readonly path: Path; readonly node_id?: string | null },
): void {
  for (const issue of issues) {
    const path = [...place.path, ...issue.path.map((step) => (typeof step === "number" ? step : String(step)))];
    const node_id = place.node_id ?? null;
    if (issue.code === "unrecognized_keys") {
      for (const key of issue.keys) {
        const message = `There is no member "${shorten(key)}" here`;
        problems.add({ code: "unknown_member", path: [...path, key], node_id, message });
      }
    } else {
      const code = codeOf(issue);
      problems.add({ code, path, node_id, message: code === "missing" ? "This member is required" : messageOf(issue) });
    }
  }
}

export function reportPlanTooLarge(problems: ProblemList, bytes: string, limits: FlowLimits): void {
  const message = `The compiled flow has ${bytes} bytes; it may have ${limits.max_plan_bytes}`;
  const hint = "Shorten templates and code, or move parts into flows of their own and call them by subflow nodes";
  problems.add({ code: "plan_too_large", path: [], message, hint });
}

/** The problem of a flow that could not be checked within the limits of time and memory; `limit` names the limit. */
export function costlyFlow(limit: string): FlowProblem {
  return {
    code: "flow_too_costly",
    severity: "error",
    node_id: null,
    node_path: null,
    path: [],
    message: `Checking the flow takes too much work. ${limit}`,
    hint: "Shorten forms, regular expressions and templates, or split the flow and call the parts by subflow nodes",
  };
}

/** Shortens text of the flow's author for messages. */
export function shorten(text: string, length = 80): string {
  return text.length > length ? `${text.slice(0, length)}…` : text;
}

function messageOf(issue: z.core.$ZodIssue): string {
  return issue.code === "invalid_key" ? (issue.issues[0]?.message ?? issue.message) : issue.message;
}

function codeOf(issue: z.core.$ZodIssue): FlowProblemCode {
  switch (issue.code) {
    case "invalid_type":
      return issue.input === undefined ? "missing" : "wrong_type";
    case "invalid_value":
    case "invalid_union":
      return issue.input === undefined ? "missing" : "invalid_value";
    case "too_big":
    case "too_small":
      return "out_of_range";
    default:
      return "invalid_value";
  }
}
