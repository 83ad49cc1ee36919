import { INLINE_VALUE_BYTES, jsonLength, memberOf } from "../../src/domain/json.ts";
import type { Json, StoredValue } from "../../src/domain/json.ts";
import { evaluatePart } from "../../src/domain/flow/expressions/evaluate.ts";
import { sourcesOf } from "../../src/domain/flow/expressions/sources.ts";
import { workOf } from "../../src/domain/flow/expressions/work.ts";
import type { NodeResult, PlanNode, Scope } from "../../src/domain/flow/plan/types.ts";
import type { NodePart } from "../../src/domain/runs/run-report.ts";
import { local } from "../activities.ts";
import { address, inlineScope, storedScope } from "./frame.ts";
import type { Frame } from "./frame.ts";

/** A value and, where the kind chooses, the live handles. */
export interface Evaluated {
  readonly value: StoredValue;
  readonly handles?: readonly string[];
}

/** What the flow yields: the value of each output node; null where its branch was not taken. */
export function outputsOf(frame: Frame): Record<string, StoredValue> {
  const outputs: Record<string, StoredValue> = {};
  for (const node of frame.plan.nodes) {
    if (node.type === "output") outputs[node.id] = frame.values.get(node.id)?.value ?? { v: null };
  }
  return outputs;
}

/** The outputs that are there already, of a flow that did not get to its end. */
export function outputsSoFar(frame: Frame): Record<string, StoredValue> {
  return Object.fromEntries(
    Object.entries(outputsOf(frame)).filter(([id]) => frame.values.get(id)?.state === "COMPLETED"),
  );
}

/**
 * Evaluates a part of a node's configuration in the workflow itself; undefined when that may be more work than a workflow
 * does. A step of a workflow that takes seconds is taken for dead, and repeated, by Temporal, and the SDK ends its process.
 */
export function evaluateHere(frame: Frame, node: PlanNode, part: NodePart, scope: Scope): NodeResult | undefined {
  const work = workOf(sourcesOf(node, part), charsOf(scope));
  return frame.ctx.budgets.takesWork(work) ? evaluatePart(node, part, scope) : undefined;
}

const lengths = new WeakMap<object, number>();

/** Characters of JSON in a scope; those of a long value, which many nodes may read, are counted once. */
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

/** Evaluates a part of a node's configuration: here, when all it reads is at hand and it is little work; else outside. */
export async function evaluate(frame: Frame, node: PlanNode, part: NodePart): Promise<Evaluated> {
  const stored = storedScope(frame, node);
  const scope = inlineScope(stored, frame.ctx.input.run_id);
  if (scope && !(part === "node" && node.execution === "local")) {
    const result = evaluateHere(frame, node, part, scope);
    if (result) return fit(frame, result);
  }
  const { identity, work } = frame.ctx;
  return work.whileBrieflyBusyInSlot(() =>
    local.evaluate({ ...address(frame, node), run: identity, part, scope: stored }),
  );
}

/** The value itself, or, when it is long, a reference to it. */
async function fit(frame: Frame, result: NodeResult): Promise<Evaluated> {
  const handles = result.handles ? { handles: result.handles } : {};
  if (jsonLength(result.output) <= INLINE_VALUE_BYTES) return { value: { v: result.output }, ...handles };
  const { org_id } = frame.ctx.input;
  return {
    value: await frame.ctx.work.whileBrieflyBusy(() => local.storeValue({ org_id, value: { v: result.output } })),
    ...handles,
  };
}

/** Kinds that hand on a value as it is, be it by reference. */
export function passesOn(node: PlanNode): boolean {
  return (
    node.type === "input" || node.type === "string" || (node.type === "output" && node.config["value"] === undefined)
  );
}

/** The value that such a node hands on; undefined where only a member of it is, and it is not at hand: see `passOn`. */
export function passedOn(frame: Frame, node: PlanNode): StoredValue | undefined {
  if (node.type === "output") {
    const { value, member } = sourceOf(frame, node);
    if (member === undefined) return value;
    return "v" in value ? { v: memberOf(value.v, member) } : undefined;
  }
  const { inputs } = frame.ctx.input;
  return (
    (Object.hasOwn(inputs, node.id) ? inputs[node.id] : undefined) ?? {
      v: (node.config["default"] as Json | undefined) ?? null,
    }
  );
}

/** As `passedOn`, wherever the value is. */
export async function passOn(frame: Frame, node: PlanNode): Promise<StoredValue> {
  const here = passedOn(frame, node);
  if (here !== undefined) return here;
  const { value, member = "" } = sourceOf(frame, node);
  const { org_id } = frame.ctx.input;
  return frame.ctx.work.whileBrieflyBusy(() => local.takeMember({ org_id, value, member }));
}

/** The value an output hands on: that of its first live source, or the member of it that is shown. */
function sourceOf(frame: Frame, node: PlanNode): { readonly value: StoredValue; readonly member?: string | undefined } {
  const source = frame.walk.liveSources(node.id)[0];
  const settled = source === undefined ? undefined : frame.values.get(source);
  if (source === undefined || settled === undefined) return { value: { v: null } };
  // What takes the place of a failed node's value is handed on as it is.
  return { value: settled.value, member: settled.state === "COMPLETED" ? node.shown?.[source] : undefined };
}
