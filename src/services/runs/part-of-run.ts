import { ValidationProblem, invalid, type ValidationIssue } from "../../domain/errors.ts";
import { hasTrait } from "../../domain/flow/plan/by-kind.ts";
import { planNodeAt } from "../../domain/flow/plan/places.ts";
import { nodesFor } from "../../domain/flow/plan/rerun.ts";
import type { Plan, PlanNode } from "../../domain/flow/plan/types.ts";
import { NODE_SPECS, nodeHandles } from "../../domain/flow/nodes/index.ts";
import type { Json, StoredValue } from "../../domain/json.ts";
import { NodeFailure } from "../../domain/runs/failure.ts";
import type { CheckpointNode } from "../../domain/runs/run.ts";
import { storeValue, type BlobStore } from "../../platform/blobs/blobs.ts";
import { handlesOf } from "./recorded-nodes.ts";
import { carry } from "./resume-run.ts";

/** The part of a flow that a run of its draft executes. */
export interface WantedPart {
  /** The path of the node whose value is wanted, such as `map-0/tpl-0`; undefined means the whole flow. */
  readonly until?: string | undefined;
  /** Values by node ID, used instead of executing these nodes. */
  readonly pinned: Readonly<Record<string, Json>>;
}

/** A part of a flow in the form that a new run needs. */
export interface PartOfRun {
  /** The plan for checking inputs, in which only executed nodes require one. */
  readonly plan: Plan;
  /** Pinned inputs, which are also inputs of the run, because expressions read them as such. */
  readonly inputs: Readonly<Record<string, Json>>;
  /** Pinned nodes with their values, and unneeded nodes as skipped. */
  readonly reuse: Readonly<Record<string, CheckpointNode>>;
}

/**
 * A node inside a map or loop is wanted with the whole map or loop: nested nodes have no value of their own, only one in each iteration.
 * Throws 422 for nodes that the flow does not have, and for values that name no branch or are too long.
 */
export async function partOfRun(
  blobs: BlobStore,
  orgId: string,
  plan: Plan,
  { until: path, pinned }: WantedPart,
): Promise<PartOfRun> {
  const nodes = new Map(plan.nodes.map((node) => [node.id, node]));
  if (path !== undefined && !planNodeAt(plan, path)) throw invalid(["body", "until"], "Node not found in the draft");
  const until = path?.split("/", 1)[0];
  if (until !== undefined && Object.hasOwn(pinned, until)) {
    const message = "The node whose value is wanted cannot be pinned, nor can the one around it";
    throw invalid(["body", "pinned", until], message);
  }
  const issues: ValidationIssue[] = [];
  const live = new Map<string, readonly string[]>();
  for (const [id, value] of Object.entries(pinned)) {
    const handles = handlesFor(nodes.get(id), value);
    if (typeof handles === "string") issues.push({ loc: ["body", "pinned", id], msg: handles, type: "value_error" });
    else live.set(id, handles);
  }
  if (issues.length > 0) throw new ValidationProblem(issues);

  const ids = new Set(live.keys());
  const needed = until === undefined ? new Set(nodes.keys()) : nodesFor(plan, until, ids);
  const isExecuted = (id: string): boolean => needed.has(id) && !ids.has(id);
  const reuse: Array<[string, CheckpointNode]> = [];
  for (const node of plan.nodes) {
    const { id } = node;
    const handles = live.get(id);
    if (handles !== undefined) {
      reuse.push([id, { value: await stored(blobs, orgId, id, pinned[id] ?? null), handles, state: "COMPLETED" }]);
    } else if (!needed.has(id)) {
      // All its edges count as active, so that a pinned node behind it is not treated as an inactive branch.
      const all = nodeHandles(NODE_SPECS[node.type], node.config, node.on_error);
      reuse.push([id, { value: { v: null }, handles: all, state: "SKIPPED" }]);
    }
  }
  const given = plan.nodes.filter((node) => ids.has(node.id) && hasTrait(node, "given", "value"));
  return {
    plan: { ...plan, nodes: plan.nodes.map((node) => (isExecuted(node.id) ? node : notRequired(node))) },
    inputs: Object.fromEntries(given.map(({ id }) => [id, pinned[id] ?? null])),
    reuse: await carry(blobs, orgId, Object.fromEntries(reuse)),
  };
}

async function stored(blobs: BlobStore, orgId: string, id: string, value: Json): Promise<StoredValue> {
  try {
    return await storeValue(blobs, orgId, value);
  } catch (error) {
    if (!(error instanceof NodeFailure)) throw error;
    throw invalid(["body", "pinned", id], error.message, error.code);
  }
}

/** The branches that a pinned value chooses, or the reason why it cannot be pinned. */
function handlesFor(node: PlanNode | undefined, value: Json): readonly string[] | string {
  if (!node) return "Node not found at the top level of the draft; nodes inside maps and loops cannot be pinned";
  const handles = handlesOf(node, { v: value });
  const known = nodeHandles(NODE_SPECS[node.type], node.config, node.on_error);
  if (handles === null || !handles.every((handle) => known.includes(handle)))
    return "The value does not say which branch the node has chosen";
  return handles;
}

function notRequired(node: PlanNode): PlanNode {
  return { ...node, config: { ...node.config, required: false } } as PlanNode;
}
