import { z } from "zod";
import { compileFlow } from "../plan/compile.ts";
import { flowDefinitionSchema, type FlowDefinition } from "../definition/definition.ts";
import { createFormCompiler, type FormCompiler } from "../forms/form.ts";
import type { FlowLimits } from "../definition/limits.ts";
import { measureConfigs, measureDocument, measureGraphs } from "./measure.ts";
import {
  addSchemaIssues,
  createProblemList,
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

/** What `POST /v2/flows/validate` answers. */
export interface FlowValidation {
  /** Whether the flow can be deployed: it has no problem of severity error. */
  readonly valid: boolean;
  readonly problems: readonly FlowProblem[];
}

/** A validation with the parsed definition and its plan, for callers that store the flow. */
export type CheckedFlow =
  | {
      readonly valid: true;
      readonly problems: readonly FlowProblem[];
      readonly definition: FlowDefinition;
      readonly plan: Plan;
    }
  | { readonly valid: false; readonly problems: readonly FlowProblem[] };

/** The flow with unchecked nodes and edges. Those are checked one by one, so that one fault hides no other. */
const frameSchema = flowDefinitionSchema.extend({ nodes: z.array(z.unknown()), edges: z.array(z.unknown()) });

/** Reports all problems of a flow at once. Executes nothing and never throws. */
export function validateFlow(input: unknown, limits: FlowLimits): FlowValidation {
  const { valid, problems } = checkFlow(input, limits);
  return { valid, problems };
}

/** As validateFlow, and hands back the definition and its plan where the flow is valid. */
export function checkFlow(input: unknown, limits: FlowLimits): CheckedFlow {
  const problems = createProblemList(input);
  if (
    !measureGraphs(input, limits, problems) ||
    !measureDocument(input, problems) ||
    !measureConfigs(input, limits, problems)
  ) {
    return { valid: false, problems: problems.all() };
  }
  const frame = frameSchema.safeParse(input, WITH_INPUT);
  if (!frame.success) addSchemaIssues(problems, frame.error.issues, { path: [] });
  const { nodes, edges } = (typeof input === "object" && input !== null ? input : {}) as Partial<
    Record<string, unknown>
  >;
  if (Array.isArray(nodes)) {
    let compiler: FormCompiler | undefined;
    const checkForm = (schema: unknown) => (compiler ??= createFormCompiler())(schema);
    const validation = { limits, problems, checkForm };
    checkGraph({ nodes, edges: Array.isArray(edges) ? edges : [] }, [], NO_OUTER_SCOPE, validation);
  }
  if (frame.success) reportSettings(frame.data, limits, problems);
  if (problems.hasErrors) return { valid: false, problems: problems.all() };

  // Without an error so far this cannot fail, because all its parts have been parsed.
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
    const message = `A run may take at most ${limits.max_timeout_seconds} seconds`;
    problems.add({ code: "out_of_range", path: ["settings", "timeout_seconds"], message });
  }
  const parsed = parseRedactPaths(settings?.redact ?? []);
  for (const { index, message } of parsed.ok ? [] : parsed.problems) {
    const hint = 'Paths look like $.inputs.in-0, $.nodes["http-0"].output.body.token, $..password';
    problems.add({ code: "invalid_redact_path", path: ["settings", "redact", index], message, hint });
  }
}

/**
 * A model's memory is stored, and nobody knows which part of it would have to be masked. Returns whether there is
 * one.
 */
function reportMemories({ settings }: FlowDefinition, plan: Plan, problems: ProblemList): boolean {
  if ((settings?.redact ?? []).length === 0 || !remembers(plan)) return false;
  const message = "A flow whose models have a memory cannot redact: what they remember would be stored as it is";
  problems.add({ code: "invalid_value", path: ["settings", "redact"], message, hint: "Leave out memory, or redact" });
  return true;
}

function remembers({ nodes }: Plan): boolean {
  return nodes.some(
    (node) => NODE_SPECS[node.type].remembers(node.config) || (node.nested !== undefined && remembers(node.nested)),
  );
}

/** Examples are shown to newcomers and pasted into snippets, so an example that would be refused is worth a warning. */
function reportExamples(definition: FlowDefinition, plan: Plan, limits: FlowLimits, problems: ProblemList): void {
  for (const [index, example] of (definition.examples ?? []).entries()) {
    const path = ["examples", index, "inputs"];
    const { issues, ignored } = validateRunInputs(plan, example.inputs, limits, { loc: [] });
    for (const { loc, msg } of issues) {
      problems.add({ code: "invalid_example", severity: "warning", path: [...path, ...loc], message: msg });
    }
    for (const key of ignored) {
      const message = "No input of the flow takes this value";
      problems.add({ code: "invalid_example", severity: "warning", path: [...path, key], message });
    }
  }
}
