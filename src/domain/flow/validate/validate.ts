import { z } from "zod";
import { compileFlow } from "../plan/compile.ts";
import { flowDefinitionSchema, type FlowDefinition } from "../definition/definition.ts";
import { createFormCompiler, type FormCompiler } from "../forms/form.ts";
import type { FlowLimits } from "../definition/limits.ts";
import { createScopeList, flowScopeSchema, type FlowScope } from "./scope-list.ts";
import type { OutputsOfOthers } from "./output-schemas.ts";
import { measureConfigs, measureDocument, measureGraphs } from "./measure.ts";
import {
  addSchemaIssues,
  createProblemList,
  flowProblemSchema,
  reportPlanTooLarge,
  WITH_INPUT,
  type FlowProblem,
  type ProblemList,
} from "./problems.ts";
import { NODE_SPECS } from "../nodes/index.ts";
import { parseRedactPaths } from "../redact.ts";
import { validateRunInputs } from "../io/run-inputs.ts";
import type { Plan } from "../plan/types.ts";
import { checkGraph, NO_OUTER_SCOPE } from "./validate-graph.ts";
import type { Validation } from "./validate-node.ts";

/** `valid`: whether the flow can be deployed, because it has no problem with severity error. */
export const flowValidationSchema = z
  .object({ valid: z.boolean(), problems: z.array(flowProblemSchema) })
  .meta({ id: "FlowValidation" });
export type FlowValidation = Pick<CheckedFlow, "valid" | "problems">;

/** The response of `POST /v2/flows/validate`. */
export const flowCheckSchema = flowValidationSchema
  .extend({ scope: flowScopeSchema.optional().describe("Only with `expand=scope`.") })
  .meta({ id: "FlowCheck" });

/** The result of a validation with the parsed definition and its plan, for callers that store the flow. */
export type CheckedFlow = (
  | { readonly valid: true; readonly definition: FlowDefinition; readonly plan: Plan }
  | { readonly valid: false }
) & {
  readonly problems: readonly FlowProblem[];
  /** Set if requested, and if the flow is within the size limits. */
  readonly scope?: FlowScope;
};

/** A flow with unchecked nodes and edges; they are checked one by one, so that no problem hides another. */
const frameSchema = flowDefinitionSchema.extend({ nodes: z.array(z.unknown()), edges: z.array(z.unknown()) });

export interface CheckOptions {
  /** Whether the values that nodes can read are returned. */
  readonly scope?: boolean;
  readonly outputs?: OutputsOfOthers;
}

/** Reports all problems of a flow together. Executes nothing and never throws. */
export function checkFlow(input: unknown, limits: FlowLimits, options: CheckOptions = {}): CheckedFlow {
  const scope = options.scope === true ? createScopeList() : undefined;
  const checked = checkParts(input, limits, { scope, outputs: options.outputs });
  return scope ? { ...checked, scope: scope.result(checked.problems) } : checked;
}

function checkParts(input: unknown, limits: FlowLimits, options: Pick<Validation, "scope" | "outputs">): CheckedFlow {
  const problems = createProblemList(input);
  if (
    !measureGraphs(input, limits, problems) ||
    !measureDocument(input, problems) ||
    !measureConfigs(input, limits, problems)
  ) {
    return { valid: false, problems: problems.all() };
  }
  const frame = frameSchema.safeParse(input, WITH_INPUT);
  if (!frame.success) addSchemaIssues(problems.add, frame.error.issues);
  const { nodes, edges } = (typeof input === "object" && input !== null ? input : {}) as Partial<
    Record<string, unknown>
  >;
  if (Array.isArray(nodes)) {
    let compiler: FormCompiler | undefined;
    const checkForm = (schema: unknown) => (compiler ??= createFormCompiler())(schema);
    const validation = { limits, problems, checkForm, ...options };
    checkGraph({ nodes, edges: Array.isArray(edges) ? edges : [] }, [], NO_OUTER_SCOPE, validation);
  }
  if (frame.success) reportSettings(frame.data, limits, problems);
  if (problems.hasErrors) return { valid: false, problems: problems.all() };

  // Cannot fail if no error has been found, because all parts have already been parsed.
  const definition = flowDefinitionSchema.parse(input);
  const plan = compileFlow(definition);
  const bytes = new TextEncoder().encode(JSON.stringify(plan)).length;
  if (bytes > limits.max_plan_bytes) {
    reportPlanTooLarge(problems, `${bytes}`, limits);
    return { valid: false, problems: problems.all() };
  }
  reportExamples(definition, plan, limits, problems);
  if (reportMemories(definition, plan, problems)) return { valid: false, problems: problems.all() };
  return { valid: true, problems: problems.all(), definition, plan };
}

function reportSettings({ settings }: z.infer<typeof frameSchema>, limits: FlowLimits, problems: ProblemList): void {
  const timeout = settings?.timeout_seconds;
  if (timeout !== undefined && timeout > limits.max_timeout_seconds) {
    const message = `timeout_seconds can be at most ${limits.max_timeout_seconds}`;
    problems.add({ code: "out_of_range", path: ["settings", "timeout_seconds"], message });
  }
  const parsed = parseRedactPaths(settings?.redact ?? []);
  for (const { index, message } of parsed.ok ? [] : parsed.problems) {
    const hint = 'A path must look like $.inputs.in-0, $.nodes["http-0"].output.body.token or $..password';
    problems.add({ code: "invalid_redact_path", path: ["settings", "redact", index], message, hint });
  }
}

/**
 * Rejects redaction together with memory: memories are stored, and it is unknown which parts of them to mask. Returns whether the flow has
 * both.
 */
function reportMemories({ settings }: FlowDefinition, plan: Plan, problems: ProblemList): boolean {
  if ((settings?.redact ?? []).length === 0 || !remembers(plan)) return false;
  const message = "redact cannot be combined with memory: remembered text would be stored unredacted";
  problems.add({ code: "invalid_value", path: ["settings", "redact"], message, hint: "Remove memory or redact" });
  return true;
}

function remembers({ nodes }: Plan): boolean {
  return nodes.some(
    (node) => NODE_SPECS[node.type].remembers(node.config) || (node.nested !== undefined && remembers(node.nested)),
  );
}

/** Newcomers read the examples and paste them into calls, so an example with invalid inputs is worth a warning. */
function reportExamples(definition: FlowDefinition, plan: Plan, limits: FlowLimits, problems: ProblemList): void {
  for (const [index, example] of (definition.examples ?? []).entries()) {
    const path = ["examples", index, "inputs"];
    const { issues, ignored } = validateRunInputs(plan, example.inputs, limits, { loc: [] });
    for (const { loc, msg } of issues) {
      problems.add({ code: "invalid_example", severity: "warning", path: [...path, ...loc], message: msg });
    }
    for (const key of ignored) {
      const message = "No input of the flow uses this value";
      problems.add({ code: "invalid_example", severity: "warning", path: [...path, key], message });
    }
  }
}
