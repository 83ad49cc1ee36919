import type { Json, StoredValue } from "../../src/domain/json.ts";
import { parseRedactPaths, type RedactPath } from "../../src/domain/flow/redact.ts";
import { maskQuoted } from "../../src/domain/flow/redacted-texts.ts";
import { hasTrait } from "../../src/domain/flow/plan/by-kind.ts";
import { Walk } from "../../src/domain/flow/plan/planner.ts";
import type { Plan, PlanNode } from "../../src/domain/flow/plan/types.ts";
import type { Scope } from "../../src/domain/flow/scope.ts";
import type { CheckpointNode } from "../../src/domain/runs/run.ts";
import type { NodeAddress, StoredScope } from "../../src/domain/runs/run-report.ts";
import type { RunContext } from "./context.ts";

/** The result of a node, for the nodes after it. */
export interface Settled {
  readonly value: StoredValue;
  readonly handles: readonly string[];
  readonly state: "COMPLETED" | "FAILED" | "SKIPPED";
}

/** The variables of an iteration's expressions. */
export interface Iteration {
  readonly item?: StoredValue;
  readonly index?: number;
  readonly last?: StoredValue;
}

/** A flow during its execution: the run's own flow, or one iteration of a map or loop. */
export interface Frame {
  readonly ctx: RunContext;
  readonly plan: Plan;
  readonly walk: Walk;
  /** "" at the top level, "map-0[3]/" in an iteration. */
  readonly prefix: string;
  /** The same without iterations: "map-0/". */
  readonly planPrefix: string;
  readonly values: Map<string, Settled>;
  readonly outer: Frame | null;
  readonly iteration: Iteration;
  readonly reuse: Readonly<Record<string, CheckpointNode>> | undefined;
}

export function topFrame(ctx: RunContext, plan: Plan): Frame {
  return {
    ctx,
    plan,
    walk: new Walk(plan),
    prefix: "",
    planPrefix: "",
    values: new Map(),
    outer: null,
    iteration: {},
    reuse: ctx.input.reuse,
  };
}

/** The frame of one iteration of `node`, which executes its nested flow. */
export function iterationFrame(outer: Frame, node: PlanNode, index: number, iteration: Iteration): Frame {
  if (!node.nested) throw new Error(`node ${node.id} has no flow inside`);
  return {
    ctx: outer.ctx,
    plan: node.nested,
    walk: new Walk(node.nested),
    prefix: `${outer.prefix}${node.id}[${index}]/`,
    planPrefix: `${outer.planPrefix}${node.id}/`,
    values: new Map(),
    outer,
    iteration: { ...iteration, index },
    reuse: undefined,
  };
}

export function address(frame: Frame, node: PlanNode): NodeAddress {
  return { plan_path: frame.planPrefix + node.id, path: frame.prefix + node.id };
}

/** The run that this one resumes, if that run did not finish this node or the top-level node around it. */
export function earlierRunOf(frame: Frame, node: PlanNode): string | undefined {
  const { resumes } = frame.ctx.input;
  const [top = ""] = address(frame, node).path.split(/[[/]/, 1);
  return resumes?.nodes.includes(top) === true ? resumes.run_id : undefined;
}

/** How long a node had already run in an earlier, lost workflow of the run (ms). */
export function passedBefore(frame: Frame, node: PlanNode): number {
  const began = frame.ctx.input.restart?.began[address(frame, node).path];
  return began === undefined ? 0 : Math.max(0, Date.now() - Date.parse(began));
}

const inputReaders = new WeakMap<PlanNode, boolean>();

/** Whether an expression of the node may read the run's inputs. Judged by its text, so it may be true without need. */
function readsInputs(node: PlanNode): boolean {
  let known = inputReaders.get(node);
  if (known === undefined) {
    known =
      hasTrait(node, "given", "source") ||
      `${JSON.stringify([node.config, node.nested ?? null])}${node.skip_if ?? ""}`.includes("inputs");
    inputReaders.set(node, known);
  }
  return known;
}

/** Exactly those values that the node's expressions can read, inline or by reference. */
export function storedScope(frame: Frame, node: PlanNode): StoredScope {
  const nodes: Record<string, StoredValue> = {};
  if (node.reads === "*") {
    for (let at: Frame | null = frame; at; at = at.outer) {
      for (const [id, settled] of at.values)
        if (!Object.hasOwn(nodes, id) && settled.state !== "SKIPPED") nodes[id] = settled.value;
    }
  } else {
    for (const id of node.reads) {
      const value = lookUp(frame, id);
      if (value) nodes[id] = value;
    }
  }
  const { item, index, last } = innermost(frame);
  return {
    nodes,
    inputs: readsInputs(node) ? frame.ctx.input.inputs : {},
    user_id: frame.ctx.input.user_id,
    metadata: frame.ctx.input.metadata,
    ...(item === undefined ? {} : { item }),
    ...(index === undefined ? {} : { index }),
    ...(last === undefined ? {} : { last }),
  };
}

function lookUp(frame: Frame, id: string): StoredValue | undefined {
  for (let at: Frame | null = frame; at; at = at.outer) {
    const settled = at.values.get(id);
    if (settled) return settled.state === "SKIPPED" ? undefined : settled.value;
  }
  return undefined;
}

/** `item`, `index` and `last`, each from the innermost map or loop that provides it. */
function innermost(frame: Frame): Iteration {
  let seen: Iteration | undefined;
  for (let at: Frame | null = frame; at; at = at.outer) {
    const { iteration } = at;
    if (iteration.index === undefined) continue;
    seen = { ...iteration, ...seen };
  }
  return seen ?? {};
}

const redactPaths = new WeakMap<Plan, readonly RedactPath[]>();

/** Masks redacted values in a message, as far as this workflow has them inline. */
export function withoutRedacted(frame: Frame, message: string): string {
  let top = frame;
  while (top.outer) top = top.outer;
  const sources = top.plan.settings.redact;
  if (!sources || sources.length === 0) return message;
  let paths = redactPaths.get(top.plan);
  if (!paths) {
    const parsed = parseRedactPaths(sources);
    paths = parsed.ok ? parsed.paths : [];
    redactPaths.set(top.plan, paths);
  }
  const nodes: Record<string, Json> = {};
  for (let at: Frame | null = frame; at; at = at.outer)
    for (const [id, { value }] of at.values) if (!Object.hasOwn(nodes, id) && "v" in value) nodes[id] = value.v;
  return maskQuoted(message, paths, { nodes, inputs: atHand(frame.ctx.input.inputs) });
}

function atHand(values: Readonly<Record<string, StoredValue>>): Record<string, Json> {
  return Object.fromEntries(
    Object.entries(values).flatMap(([id, value]): Array<[string, Json]> => ("v" in value ? [[id, value.v]] : [])),
  );
}

/** The scope with all values inline; null if some are in the blob store. */
export function inlineScope(stored: StoredScope, runId: string): Scope | null {
  const nodes = inlineAll(stored.nodes);
  const inputs = inlineAll(stored.inputs);
  if (!nodes || !inputs) return null;
  const { item, last } = stored;
  if ((item && !("v" in item)) || (last && !("v" in last))) return null;
  return {
    nodes,
    inputs,
    run: { id: runId, user_id: stored.user_id, metadata: stored.metadata },
    ...(item ? { item: item.v } : {}),
    ...(stored.index === undefined ? {} : { index: stored.index }),
    ...(last ? { last: last.v } : {}),
  };
}

function inlineAll(values: Readonly<Record<string, StoredValue>>): Record<string, Json> | null {
  const all: Record<string, Json> = {};
  for (const [id, value] of Object.entries(values)) {
    if (!("v" in value)) return null;
    all[id] = value.v;
  }
  return all;
}
