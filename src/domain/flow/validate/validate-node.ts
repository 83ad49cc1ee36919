import { checkCel } from "../expressions/cel/cel.ts";
import { isNodeId, nodeSchema, type FlowNode } from "../definition/definition.ts";
import type { CheckedForm } from "../forms/form.ts";
import type { FlowLimits } from "../definition/limits.ts";
import { NODE_SPECS, nodeHandles } from "../nodes/index.ts";
import type { Expression, NodeConfig, NodeSpec } from "../nodes/spec.ts";
import { BRACES_AS_TEXT, checkTemplate } from "../expressions/liquid/liquid.ts";
import type { OutputsOfOthers } from "./output-schemas.ts";
import {
  addSchemaIssues,
  shorten,
  WITH_INPUT,
  type FlowProblemCode,
  type Path,
  type ProblemList,
  type Report,
} from "./problems.ts";
import type { ScopeList } from "./scope-list.ts";
import { NODE_KINDS, type NodeKind } from "../kinds.ts";
import { type Reads } from "../scope.ts";
import { isObject } from "../../json.ts";

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
  const shape = nodeSchema.safeParse(raw, WITH_INPUT);
  const members = (typeof raw === "object" && raw !== null ? raw : {}) as Readonly<Record<string, unknown>>;
  const id = Object.hasOwn(members, "id") && isNodeId(members["id"]) ? members["id"] : undefined;
  const kind = NODE_KINDS.find((known) => known === members["type"]);
  const spec = kind && NODE_SPECS[kind];
  const report = validation.problems.of(path, id);
  if (!shape.success) reportShape(shape.error.issues, members, report);
  if (id !== undefined) reportReservedId(id, spec, report);
  const known = { id, path, kind, spec };
  const nothing = { config: undefined, handles: undefined, node: undefined, nested: undefined };
  if (!spec) return { ...known, ...nothing, expressions: [], readsInputs: false };

  const { flow, ...own } = (isObject(members["config"]) ? members["config"] : {}) as Record<string, unknown>;
  const config = spec.config.safeParse(spec.nested || flow === undefined ? own : members["config"], WITH_INPUT);
  if (!config.success) addSchemaIssues(report, config.error.issues, ["config"]);
  if (spec.nested && flow === undefined)
    report({ code: "missing", path: ["config", "flow"], message: `A ${kind} needs config.flow` });
  const node = shape.data;
  const skipIf = node?.skip_if;
  const sources: Expression[] = [
    ...(config.data ? spec.expressions(config.data) : []).map((each) => ({ ...each, path: ["config", ...each.path] })),
    ...(skipIf === undefined ? [] : [{ language: "cel" as const, source: skipIf, path: ["skip_if"] }]),
  ];
  if (config.data) reportFaults(spec, config.data, validation, report);
  if (node && config.data) reportSettings(node, spec, config.data, report);
  return {
    ...known,
    config: config.data,
    handles: node && config.data && nodeHandles(spec, config.data, node.on_error),
    expressions: sources.flatMap((each) => checkExpression(each, path, validation.limits, report) ?? []),
    readsInputs:
      sources.some(({ source }) => source.includes("inputs")) ||
      (flow !== undefined && JSON.stringify(flow).includes("inputs")),
    node,
    nested: spec.nested ? flow : undefined,
  };
}

function reportShape(
  issues: Parameters<typeof addSchemaIssues>[1],
  { id, type }: Readonly<Record<string, unknown>>,
  report: Report,
): void {
  const [ofId, ofType] = ["id", "type"].map((name) => issues.find(({ path }) => path[0] === name));
  addSchemaIssues(
    report,
    issues.filter(({ path }) => path[0] !== "id" && path[0] !== "type"),
  );
  if (ofId && id === undefined) report({ code: "missing", path: ["id"], message: "A node needs an id" });
  else if (ofId) report({ code: "bad_id", path: ["id"], message: ofId.message });
  if (!ofType) return;
  const place = { path: ["type"], hint: `The node types are ${NODE_KINDS.join(", ")}` };
  if (type === undefined) report({ ...place, code: "missing", message: "A node needs a type" });
  else {
    const name = typeof type === "string" ? `"${shorten(type)}"` : `a ${typeof type}`;
    report({ ...place, code: "unknown_kind", message: `Unknown node type ${name}` });
  }
}

function reportReservedId(id: string, spec: NodeSpec | undefined, report: Report): void {
  const warn = (message: string) => report({ code: "reserved_id", severity: "warning", path: ["id"], message });
  if (SCOPE_NAMES.includes(id)) warn(`"${id}" is a reserved name in expressions; refer to this node as nodes["${id}"]`);
  if (spec?.input && BODY_NAMES.includes(id))
    warn(`"${id}" in the body of an inference call is not an input; only POST /v2/runs can set this input`);
}

function reportFaults(spec: NodeSpec, config: NodeConfig, { checkForm, limits }: Validation, report: Report): void {
  for (const { path, ...fault } of spec.faults?.(config, limits) ?? [])
    report({ code: "invalid_config", path: ["config", ...path], ...fault });
  const form = spec.io.pause?.(config)?.form;
  const checked = form && checkForm(form);
  if (checked?.ok === false) report({ code: "invalid_form", path: ["config", "form"], message: checked.message });
}

function reportSettings(node: FlowNode, spec: NodeSpec, config: NodeConfig, report: Report): void {
  const warn = (member: keyof FlowNode, message: string, hint?: string, code: FlowProblemCode = "setting_ignored") =>
    report({ code, severity: "warning", path: [member], message, hint });
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
  { language, source, path }: Expression,
  nodePath: Path,
  limits: FlowLimits,
  report: Report,
): CheckedExpression | undefined {
  const longest = language === "cel" ? limits.max_cel_chars : limits.max_template_chars;
  if (source.length > longest) {
    const message = `${language === "cel" ? "An expression" : "A template"} can have at most ${longest} characters`;
    report({ code: "expression_too_long", path, message });
    return undefined;
  }
  const check = language === "cel" ? checkCel(source) : checkTemplate(source);
  if (check.ok) {
    const long = "longInteger" in check ? (check.longInteger as string | undefined) : undefined;
    if (long !== undefined) {
      const message = `No value equals ${long}: JSON integers beyond 2^53 are read as text with the same digits`;
      const fix = `Write it as text, "${long}", or convert the other side with int(...)`;
      report({ code: "long_integer", severity: "warning", path, message, hint: fix });
    }
    return { path: [...nodePath, ...path], reads: check.reads, language, source };
  }
  const hint = language === "liquid" && source.includes("{{") ? BRACES_AS_TEXT : undefined;
  report({ code: "invalid_expression", path, message: check.message, hint });
  return undefined;
}
