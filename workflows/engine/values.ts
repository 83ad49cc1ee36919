import { INLINE_VALUE_BYTES, jsonLength, memberOf, type StoredValue } from "../../src/domain/json.ts";
import { evaluatePart, sourcesOf } from "../../src/domain/flow/expressions/evaluate.ts";
import { isForWorkflow } from "../../src/domain/flow/expressions/rules.ts";
import { workOf } from "../../src/domain/flow/expressions/work.ts";
import { hasTrait } from "../../src/domain/flow/plan/by-kind.ts";
import type { PlanNode } from "../../src/domain/flow/plan/types.ts";
import type { NodeResult, Scope } from "../../src/domain/flow/scope.ts";
import type { NodePart } from "../../src/domain/runs/run-report.ts";
import { local } from "../activities.ts";
import { address, inlineScope, storedScope, type Frame } from "./frame.ts";

/** A value with its active handles, if the node type chooses them. */
export interface Evaluated {
  readonly value: StoredValue;
  readonly handles?: readonly string[];
}

/** The flow's outputs: the value of each output node, or null if its branch was inactive. */
export function outputsOf(frame: Frame): Record<string, StoredValue> {
  const outputs: Record<string, StoredValue> = {};
  for (const node of frame.plan.nodes) {
    if (node.type === "output") outputs[node.id] = frame.values.get(node.id)?.value ?? { v: null };
  }
  return outputs;
}

/** The outputs that are already known of a flow that has not completed. */
export function outputsSoFar(frame: Frame): Record<string, StoredValue> {
  return Object.fromEntries(
    Object.entries(outputsOf(frame)).filter(([id]) => frame.values.get(id)?.state === "COMPLETED"),
  );
}

/**
 * Evaluates a part of a node's configuration in the workflow itself. Undefined if the result may differ between machines, or if it may be
 * too much work: Temporal repeats a workflow task that takes seconds, and the SDK then ends the process.
 */
export function evaluateHere(frame: Frame, node: PlanNode, part: NodePart, scope: Scope): NodeResult | undefined {
  const sources = sourcesOf(node, part);
  if (!isForWorkflow(sources, frame.plan.rules)) return undefined;
  const work = workOf(sources, charsOf(scope));
  return frame.ctx.budgets.takesWork(work) ? evaluatePart(node, part, scope, frame.plan.rules ?? 1) : undefined;
}

const lengths = new WeakMap<object, number>();

/** Characters of JSON in a scope. The length of a value is computed only once, because many nodes may read it. */
function charsOf({ nodes, inputs, run, item, last }: Scope): number {
  let chars = 0;
  for (const value of [...Object.values(nodes), ...Object.values(inputs), run.metadata, item, last]) {
    if (typeof value !== "object" || value === null) chars += jsonLength(value ?? null);
    else {
      const length = lengths.get(value) ?? jsonLength(value);
      lengths.set(value, length);
      chars += length;
    }
  }
  return chars;
}

/**
 * Evaluates a part of a node's configuration: in the workflow if the values are inline and the work is little, otherwise in an activity.
 */
export async function evaluate(frame: Frame, node: PlanNode, part: NodePart): Promise<Evaluated> {
  const stored = storedScope(frame, node);
  const scope = inlineScope(stored, frame.ctx.input.run_id);
  if (scope && !(part === "node" && node.execution === "local")) {
    const result = evaluateHere(frame, node, part, scope);
    if (result) return fit(frame, result);
  }
  const { identity, work } = frame.ctx;
  return work.whileLocalActivityRunsInSlot(() =>
    local.evaluate({ ...address(frame, node), run: identity, part, scope: stored }),
  );
}

/** The value itself, or a reference to it if it is long. */
async function fit(frame: Frame, result: NodeResult): Promise<Evaluated> {
  const handles = result.handles ? { handles: result.handles } : {};
  if (jsonLength(result.output) <= INLINE_VALUE_BYTES) return { value: { v: result.output }, ...handles };
  const { org_id } = frame.ctx.input;
  return {
    value: await frame.ctx.work.whileLocalActivityRuns(() => local.storeValue({ org_id, value: { v: result.output } })),
    ...handles,
  };
}

/** Whether the node's value is a run's input or another node's value, unchanged. */
export function isPassThrough(node: PlanNode): boolean {
  return hasTrait(node, "given", "value") || (node.type === "output" && node.config.value === undefined);
}

/** The value of a pass-through node; undefined if it is a field of a value in the blob store (see `loadPassThroughValue`). */
export function passThroughValue(frame: Frame, node: PlanNode): StoredValue | undefined {
  if (node.type === "output") {
    const { value, member } = sourceOf(frame, node);
    if (member === undefined) return value;
    return "v" in value ? { v: memberOf(value.v, member) } : undefined;
  }
  const { inputs } = frame.ctx.input;
  return (
    (Object.hasOwn(inputs, node.id) ? inputs[node.id] : undefined) ?? {
      v: ("default" in node.config ? node.config.default : undefined) ?? null,
    }
  );
}

/** The value of a pass-through node, loaded if necessary. */
export async function loadPassThroughValue(frame: Frame, node: PlanNode): Promise<StoredValue> {
  const here = passThroughValue(frame, node);
  if (here !== undefined) return here;
  const { value, member = "" } = sourceOf(frame, node);
  const { org_id } = frame.ctx.input;
  return frame.ctx.work.whileLocalActivityRuns(() => local.takeMember({ org_id, value, member }));
}

/** The source of an output: the value of its first active source, and which of the value's fields is the output. */
function sourceOf(frame: Frame, node: PlanNode): { readonly value: StoredValue; readonly member?: string | undefined } {
  const source = frame.walk.liveSources(node.id)[0];
  const settled = source === undefined ? undefined : frame.values.get(source);
  if (source === undefined || settled === undefined) return { value: { v: null } };
  // The value that replaces a failed node's value has no such field.
  return { value: settled.value, member: settled.state === "COMPLETED" ? node.shown?.[source] : undefined };
}
