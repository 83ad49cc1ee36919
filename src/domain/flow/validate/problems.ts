import { z } from "zod";
import { ownMember, type Immutable } from "../../json.ts";
import type { FlowLimits } from "../definition/limits.ts";

/** Every code that a problem of a flow can have. Stable, because clients and editors depend on them. */
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
  // References
  | "unknown_knowledge_base"
  | "unknown_connection"
  | "unknown_provider"
  | "unknown_action"
  | "unknown_skill"
  | "unknown_project"
  | "unknown_environment"
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
  | "long_integer"
  | "reads_unknown_node"
  | "reads_later_node"
  | "reads_unknown_field"
  // The flow as a whole
  | "too_many_nodes"
  | "nesting_too_deep"
  | "plan_too_large"
  | "flow_too_costly"
  | "invalid_redact_path"
  | "invalid_example"
  | "too_many_problems";

/** Keys and indexes that lead to a location in a flow. */
export type Path = ReadonlyArray<string | number>;
export const pathSchema: z.ZodType<Path> = z.array(z.union([z.string(), z.int()]));

/** Something that is wrong with a flow, or, as a warning, probably a mistake. A flow with an error cannot be deployed. */
export const flowProblemSchema = z
  .object({
    code: z.string().describe("Code of the problem. Codes do not change."),
    severity: z.enum(["error", "warning"]),
    node_id: z.string().nullable(),
    node_path: z
      .string()
      .nullable()
      .describe("The node's ID after the IDs of the maps and loops around it, for example `map-0/guard-0`."),
    path: pathSchema.describe("Field names and positions that lead to the location in the flow."),
    message: z.string(),
    hint: z.string().nullable(),
  })
  .meta({ id: "FlowProblem" });
export type FlowProblem = Immutable<z.output<typeof flowProblemSchema>> & { readonly code: FlowProblemCode };

/** A problem to be added; by default `node_id` and `hint` are null, and the severity is error. */
export interface Finding
  extends Pick<FlowProblem, "code" | "path" | "message">, Partial<Pick<FlowProblem, "severity" | "node_id">> {
  readonly hint?: string | undefined;
}

/** Most problems listed, because a hostile document can contain any number. */
const MAX_PROBLEMS = 1000;

/** Adds the problems of a node: their paths begin at the node. */
export type Report = (finding: Omit<Finding, "node_id">) => void;

/** Collects problems; those beyond the limit are only counted. */
export interface ProblemList {
  readonly add: (finding: Finding) => void;
  /** Reports the problems of a node at `path`; its ID is undefined if it is unusable. */
  of(path: Path, id: string | undefined): Report;
  readonly hasErrors: boolean;
  all(): FlowProblem[];
}

export function createProblemList(flow: unknown): ProblemList {
  const problems: FlowProblem[] = [];
  let omitted = 0;
  let errors = 0;
  function add({ code, path, message, severity = "error", node_id = null, hint }: Finding): void {
    if (severity === "error") errors += 1;
    if (problems.length >= MAX_PROBLEMS) omitted += 1;
    else problems.push({ code, severity, node_id, node_path: nodePath(flow, path), path, message, hint: hint ?? null });
  }

  return {
    add,
    of: (place, id) => (finding) => add({ node_id: id ?? null, ...finding, path: [...place, ...finding.path] }),
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

/** The IDs of the nodes that a path leads through, such as "map-0/guard-0"; null if it leads through none with an ID. */
export function nodePath(flow: unknown, path: Path): string | null {
  const ids: string[] = [];
  let value = flow;
  for (const [index, step] of path.entries()) {
    value = ownMember(value, step);
    if (value === undefined) break;
    if (path[index - 1] !== "nodes" || typeof step !== "number") continue;
    const id = ownMember(value, "id");
    if (typeof id !== "string") return null;
    ids.push(shorten(id));
  }
  return ids.length === 0 ? null : ids.join("/");
}

/** Adds the input to schema issues, which distinguishes missing values from wrong ones. */
export const WITH_INPUT = { reportInput: true } as const;

/** Adds the issues of a schema that was parsed WITH_INPUT; each unknown field is a problem of its own. */
export function addSchemaIssues(report: Report, issues: readonly z.core.$ZodIssue[], place: Path = []): void {
  for (const issue of issues) {
    const path = [...place, ...issue.path.map((step) => (typeof step === "number" ? step : String(step)))];
    if (issue.code === "unrecognized_keys") {
      for (const key of issue.keys)
        report({ code: "unknown_member", path: [...path, key], message: `Unknown field "${shorten(key)}"` });
    } else {
      const code = codeOf(issue);
      report({ code, path, message: code === "missing" ? "This field is required" : messageOf(issue) });
    }
  }
}

export function reportPlanTooLarge(problems: ProblemList, bytes: string, limits: FlowLimits): void {
  const message = `The compiled flow has ${bytes} bytes; the limit is ${limits.max_plan_bytes}`;
  const hint = "Shorten templates and code, or split the flow and call the parts with subflow nodes";
  problems.add({ code: "plan_too_large", path: [], message, hint });
}

/** The problem of a flow whose check exceeded its limits of time or memory; `limit` names the limit. */
export function costlyFlow(limit: string): FlowProblem {
  return {
    code: "flow_too_costly",
    severity: "error",
    node_id: null,
    node_path: null,
    path: [],
    message: `The flow is too complex to validate. ${limit}`,
    hint: "Shorten forms, regular expressions and templates, or split the flow and call the parts with subflow nodes",
  };
}

/** Shortens text written by the flow's author for messages. */
export function shorten(text: string): string {
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
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
