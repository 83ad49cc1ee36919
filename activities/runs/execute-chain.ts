import { ApplicationFailure } from "@temporalio/activity";
import { isCheap } from "../../src/domain/flow/expressions/work.ts";
import { evaluatePart, sourcesOf } from "../../src/domain/flow/expressions/evaluate.ts";
import { isForWorkflow } from "../../src/domain/flow/expressions/rules.ts";
import type { Plan, PlanNode } from "../../src/domain/flow/plan/types.ts";
import { INLINE_VALUE_BYTES, jsonLength, type StoredValue } from "../../src/domain/json.ts";
import { NodeFailure } from "../../src/domain/runs/failure.ts";
import type { Progress } from "../../src/domain/runs/run.ts";
import type {
  EndAhead,
  ExecuteInput,
  ExecuteResult,
  FailureDetails,
  NodeReport,
  RunIdentity,
  StoredScope,
} from "../../src/domain/runs/run-report.ts";
import type { PlanCache } from "../../src/services/projects/plans.ts";
import { isStopped } from "../../src/stores/around.ts";
import type { Database } from "../../src/stores/db.ts";
import type { AsFollower, ExecuteOne } from "./execute-node.ts";
import { loadScope } from "./values.ts";
import type { BlobStore } from "../../src/platform/blobs/blobs.ts";

/** Age after which an activity starts no further node (ms). */
const MAX_STAY_MS = 30_000;
/** Longest values (characters) of one activity's result, because the history keeps it. */
const MAX_RESULT_CHARS = 256 * 1024;

export interface ChainDeps {
  readonly db: Database;
  readonly blobs: BlobStore;
  readonly plans: PlanCache;
  /** Whether this process may begin another node of the organisation now. */
  readonly mayContinue: (orgId: string) => boolean;
}

/**
 * Executes a node, and then the nodes of its chain, each as its own activity would. Stops at anything unusual, and the
 * workflow executes the rest. If Temporal repeats the activity, the finished nodes are read from the record.
 */
export function createExecuteChain(executeOne: ExecuteOne, { db, blobs, plans, mayContinue }: ChainDeps) {
  return async function executeNode(input: ExecuteInput): Promise<ExecuteResult> {
    const { chain = [], ...head } = input;
    if (chain.length === 0) return (await executeOne(head)).value;
    const { run } = input;
    const began = Date.now();
    const { plan, node: nodeAt } = await plans.get(run);
    const known = { ...input.scope, nodes: { ...input.scope.nodes } };
    const rest = chain.map(nodeAt);
    const ahead: EndAhead[] = [];
    const recorded: string[] = [];
    let next: PlanNode | undefined = nodeAt(input.plan_path);
    let { progress } = input;
    let chars = 0;
    let as: AsFollower = {};

    /** Evaluates the inline nodes after a value, and chooses the next slow node, or none if the chain stops. */
    const advance = async (ended: PlanNode, value: StoredValue): Promise<NodeReport[]> => {
      known.nodes[ended.id] = value;
      chars += "v" in value ? jsonLength(value.v) : 0;
      next = undefined;
      if (Date.now() - began > MAX_STAY_MS || chars > MAX_RESULT_CHARS || !mayContinue(run.org_id)) return [];
      const reports: NodeReport[] = [];
      const now = Date.now();
      const at = new Date(now).toISOString();
      for (let node = rest.shift(); node; node = rest.shift()) {
        progress = withNext(progress, node.id);
        const base = { node_id: node.id, type: node.type, path: node.id, attempts: 1 };
        if (node.execution === "activity") {
          next = node;
          // One millisecond later, because lists of nodes are sorted by start time.
          as = { announcedAt: new Date(now + 1).toISOString() };
          return [...reports, { ...base, state: "RUNNING", started_at: as.announcedAt ?? at, finished_at: null }];
        }
        const result = await evaluated(plan, node, seenBy(node, known), run);
        if (!result) break;
        known.nodes[node.id] = result;
        reports.push({ ...base, state: "COMPLETED", value: result, started_at: at, finished_at: at });
      }
      return reports;
    };

    let own: StoredValue = { v: null };
    let isFirstTry = false;
    for (let isHead = true; next; isHead = false) {
      const node: PlanNode = next;
      const { id } = node;
      const scope = seenBy(node, known);
      const one = isHead
        ? { ...head, scope }
        : { ...head, plan_path: id, path: id, attempt: 1, flush: [], scope, progress };
      let reports: readonly NodeReport[] | undefined;
      const alongside = async (value: StoredValue) => (reports = await advance(node, value));
      try {
        const { value, executed, stopped } = await executeOne(one, { ...as, isFirstTry, alongside });
        isFirstTry = executed;
        // If the record already had the node's end, `alongside` was not called, so the chain advances here.
        if (reports) recorded.push(...reports.flatMap((each) => (each.state === "COMPLETED" ? [each.node_id] : [])));
        else {
          await advance(node, value);
          as = {};
        }
        if (isHead) own = value;
        else ahead.push({ node_id: id, value });
        if (executed ? stopped : next && (await isStoppedNow(run))) break;
      } catch (error) {
        const failure = ownFailure(error);
        if (isHead || !failure) throw error;
        ahead.push({ node_id: id, failure });
        break;
      }
    }
    return ahead.length + recorded.length === 0 ? own : { ...own, ahead, recorded };
  };

  function isStoppedNow(run: RunIdentity): Promise<boolean> {
    return db.org(run.org_id, (connection) => isStopped(connection, run.run_id));
  }

  /** The value of an inline node; undefined if the workflow must evaluate it. */
  async function evaluated(
    plan: Plan,
    node: PlanNode,
    stored: StoredScope,
    run: RunIdentity,
  ): Promise<StoredValue | undefined> {
    const isHere = [...Object.values(stored.nodes), ...Object.values(stored.inputs)].every((value) => "v" in value);
    const sources = sourcesOf(node, "node");
    if (!isHere || !isForWorkflow(sources, plan.rules)) return undefined;
    const scope = await loadScope(blobs, stored, run.run_id);
    if (!isCheap(sources, scope)) return undefined;
    try {
      const { output } = evaluatePart(node, "node", scope, plan.rules);
      return jsonLength(output) > INLINE_VALUE_BYTES ? undefined : { v: output };
    } catch (error) {
      if (error instanceof NodeFailure) return undefined;
      throw error;
    }
  }
}

/** The part of the chain's scope that this node reads. */
function seenBy({ reads }: PlanNode, scope: StoredScope): StoredScope {
  if (reads === "*") return scope;
  return { ...scope, nodes: Object.fromEntries(Object.entries(scope.nodes).filter(([id]) => reads.includes(id))) };
}

/** The progress after the previous node has finished and this one starts. */
function withNext(progress: Progress, nodeId: string): Progress {
  const { started_nodes, completed_nodes } = progress;
  return {
    ...progress,
    started_nodes: started_nodes + 1,
    completed_nodes: completed_nodes + 1,
    current_node: nodeId,
  };
}

/**
 * A node's own failure, as the workflow gets it; null for an outage, an internal error or a cancellation, which end the
 * activity.
 */
function ownFailure(error: unknown): EndAhead["failure"] | null {
  if (!(error instanceof ApplicationFailure) || !error.nonRetryable) return null;
  const { type, message, details } = error;
  return { type: type ?? "node_failed", message, details: details?.[0] as FailureDetails };
}
