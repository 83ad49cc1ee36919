import { checkCel } from "../expressions/cel/cel.ts";
import { isNodeId, nodeSchema, type FlowNode } from "../definition/definition.ts";
import type { CheckedForm } from "../forms/form.ts";
import type { FlowLimits } from "../definition/limits.ts";
import { NODE_SPECS, nodeHandles } from "../nodes/index.ts";
import type { Expression, NodeConfig, NodeSpec } from "../nodes/spec.ts";
import { BRACES_AS_TEXT, checkTemplate } from "../expressions/liquid/liquid.ts";
import type { OutputsOfOthers } from "./output-schemas.ts";
import { addSchemaIssues, shorten, WITH_INPUT, type FlowProblemCode, type Path, type ProblemList } from "./problems.ts";
import type { ScopeList } from "./scope-list.ts";
import { NODE_KINDS, type NodeKind } from "../kinds.ts";
import { type Reads } from "../scope.ts";
import { isObject } from "../../json.ts";

/** The context of one validation. */
export interface Validation {
  readonly limits: FlowLimits;
  readonly problems: ProblemList;
  readonly checkForm: (schema: unknown) => CheckedForm;
  /** Collects what each node can read; absent unless requested. */
  readonly scope?: ScopeList | undefined;
  readonly outputs?: OutputsOfOthers | undefined;
}

/** A valid expression and the nodes it reads. */
export interface CheckedExpression extends Expression {
  readonly reads: Reads;
}

/** What is known of a node that may be invalid. */
export interface CheckedNode {
  /** Undefined if it is unusable. */
  readonly id: string | undefined;
  readonly path: Path;
  /** Undefined if it is unknown. */
  readonly kind: NodeKind | undefined;
  readonly spec: NodeSpec | undefined;
  /** Parsed, without the nested flow; undefined if invalid. */
  readonly config: NodeConfig | undefined;
  /** Undefined if the node is too broken to know them. */
  readonly handles: readonly string[] | undefined;
  readonly expressions: readonly CheckedExpression[];
  /** Whether expressions mention `inputs`, so that they may read any input without an edge. */
  readonly readsInputs: boolean;
  readonly node: FlowNode | undefined;
  /** The nested flow, not yet checked. */
  readonly nested: unknown;
}

/** Top-level variables of expressions. A node with such an ID can be read only through `nodes`. */
const SCOPE_NAMES = ["nodes", "inputs", "item", "index", "last", "run"];

/** Fields of a run's body that are not inputs. */
const BODY_NAMES = ["user_id", "stream"];

/** Checks one node: its shape, configuration and expressions. Edges and reads are checked elsewhere. */
export function checkNode(raw: unknown, path: Path, validation: Validation): CheckedNode {
  const { problems } = validation;
  const shape = nodeSchema.safeParse(raw, WITH_INPUT);
  const members = (typeof raw === "object" && raw !== null ? raw : {}) as Readonly<Record<string, unknown>>;
  const id = Object.hasOwn(members, "id") && isNodeId(members["id"]) ? members["id"] : undefined;
  const kind = NODE_KINDS.find((known) => known === members["type"]);
  const spec = kind && NODE_SPECS[kind];
  const node_id = id ?? null;
  if (!shape.success) reportShape(shape.error.issues, members, path, node_id, problems);
  if (id !== undefined) reportReservedId(id, spec, path, problems);
  const known = { id, path, kind, spec };
  const nothing = { config: undefined, handles: undefined, node: undefined, nested: undefined };
  if (!spec) return { ...known, ...nothing, expressions: [], readsInputs: false };

  const { flow, ...own } = (isObject(members["config"]) ? members["config"] : {}) as Record<string, unknown>;
  const config = spec.config.safeParse(spec.nested || flow === undefined ? own : members["config"], WITH_INPUT);
  if (!config.success) addSchemaIssues(problems, config.error.issues, { path: [...path, "config"], node_id });
  if (spec.nested && flow === undefined) {
    const message = `A ${kind} needs config.flow`;
    problems.add({ code: "missing", path: [...path, "config", "flow"], node_id, message });
  }
  const node = shape.data;
  const skipIf = node?.skip_if;
  const sources: Expression[] = [
    ...(config.data ? spec.expressions(config.data) : []).map((each) => ({ ...each, path: ["config", ...each.path] })),
    ...(skipIf === undefined ? [] : [{ language: "cel" as const, source: skipIf, path: ["skip_if"] }]),
  ];
  if (config.data) reportFaults(spec, config.data, path, node_id, validation);
  if (node && config.data) reportSettings(node, spec, config.data, path, problems);
  return {
    ...known,
    config: config.data,
    handles: node && config.data && nodeHandles(spec, config.data, node.on_error),
    expressions: sources.flatMap((place) => checkExpression(place, path, node_id, validation) ?? []),
    readsInputs:
      sources.some(({ source }) => source.includes("inputs")) ||
      (flow !== undefined && JSON.stringify(flow).includes("inputs")),
    node,
    nested: spec.nested ? flow : undefined,
  };
}

function reportShape(
  issues: Parameters<typeof addSchemaIssues>[1],
  members: Readonly<Record<string, unknown>>,
  path: Path,
  node_id: string | null,
  problems: ProblemList,
): void {
  const first = (issue: (typeof issues)[number]) => issue.path[0];
  addSchemaIssues(
    problems,
    issues.filter((issue) => first(issue) !== "id" && first(issue) !== "type"),
    { path, node_id },
  );
  const idIssue = issues.find((issue) => first(issue) === "id");
  if (idIssue) {
    const missing = members["id"] === undefined;
    const message = missing ? "A node needs an id" : idIssue.message;
    problems.add({ code: missing ? "missing" : "bad_id", path: [...path, "id"], message });
  }
  if (!issues.some((issue) => first(issue) === "type")) return;
  const kind = members["type"];
  const hint = `The node types are ${NODE_KINDS.join(", ")}`;
  const place = { path: [...path, "type"], node_id, hint };
  if (kind === undefined) problems.add({ ...place, code: "missing", message: "A node needs a type" });
  else {
    const name = typeof kind === "string" ? `"${shorten(kind)}"` : `a ${typeof kind}`;
    problems.add({ ...place, code: "unknown_kind", message: `Unknown node type ${name}` });
  }
}

function reportReservedId(id: string, spec: NodeSpec | undefined, path: Path, problems: ProblemList): void {
  const place = { code: "reserved_id", severity: "warning", path: [...path, "id"], node_id: id } as const;
  if (SCOPE_NAMES.includes(id)) {
    const message = `"${id}" is a reserved name in expressions; refer to this node as nodes["${id}"]`;
    problems.add({ ...place, message });
  }
  if (spec?.input && BODY_NAMES.includes(id)) {
    const message = `"${id}" in the body of an inference call is not an input; only POST /v2/runs can set this input`;
    problems.add({ ...place, message });
  }
}

function reportFaults(
  spec: NodeSpec,
  config: NodeConfig,
  path: Path,
  node_id: string | null,
  validation: Validation,
): void {
  const { problems, checkForm, limits } = validation;
  for (const { path: place, ...fault } of spec.faults?.(config, limits) ?? []) {
    problems.add({ code: "invalid_config", path: [...path, "config", ...place], node_id, ...fault });
  }
  const form = spec.io.pause?.(config)?.form;
  if (!form) return;
  const checked = checkForm(form);
  if (!checked.ok)
    problems.add({ code: "invalid_form", path: [...path, "config", "form"], node_id, message: checked.message });
}

function reportSettings(node: FlowNode, spec: NodeSpec, config: NodeConfig, path: Path, problems: ProblemList): void {
  const warn = (member: keyof FlowNode, message: string, hint?: string, code: FlowProblemCode = "setting_ignored") =>
    problems.add({ code, severity: "warning", path: [...path, member], node_id: node.id, message, hint });
  if (node.on_error === "continue" && node.default_output === undefined)
    warn("on_error", "If this node fails, its value is null", "Set default_output", "missing_default_output");
  const execution = spec.execution(config);
  if (node.timeout_ms !== undefined && (execution === "inline" || execution === "local"))
    warn("timeout_ms", "timeout_ms has no effect on this node type");
  if (node.timeout_ms !== undefined && spec.io.pause)
    warn("timeout_ms", "timeout_ms has no effect on an approval", "Set config.expires_in_seconds instead");
  // Each step of a node with tools has its own attempts.
  const retries = execution === "activity" || spec.retry.max_attempts > 1;
  if ((node.retry?.max_attempts ?? 1) > 1 && !retries) {
    const hint = spec.nested || node.type === "subflow" ? "Set retry on the nodes inside it" : undefined;
    warn("retry", "retry has no effect: this node makes only one attempt", hint);
  }
  if (node.default_output !== undefined && node.on_error !== "continue")
    warn("default_output", "default_output has no effect unless on_error is continue");
}

function checkExpression(
  { language, source, path: place }: Expression,
  nodePath: Path,
  node_id: string | null,
  { limits, problems }: Validation,
): CheckedExpression | undefined {
  const path = [...nodePath, ...place];
  const longest = language === "cel" ? limits.max_cel_chars : limits.max_template_chars;
  if (source.length > longest) {
    const message = `${language === "cel" ? "An expression" : "A template"} can have at most ${longest} characters`;
    problems.add({ code: "expression_too_long", path, node_id, message });
    return undefined;
  }
  const check = language === "cel" ? checkCel(source) : checkTemplate(source);
  if (check.ok) {
    const long = "longInteger" in check ? (check.longInteger as string | undefined) : undefined;
    if (long !== undefined) {
      const message = `No value equals ${long}: JSON integers beyond 2^53 are read as text with the same digits`;
      const fix = `Write it as text, "${long}", or convert the other side with int(...)`;
      problems.add({ code: "long_integer", severity: "warning", path, node_id, message, hint: fix });
    }
    return { path, reads: check.reads, language, source };
  }
  const hint = language === "liquid" && source.includes("{{") ? BRACES_AS_TEXT : undefined;
  problems.add({ code: "invalid_expression", path, node_id, message: check.message, hint });
  return undefined;
}
