import { jsonLength } from "../../src/domain/json.ts";
import { DEFAULT_NODE_TIMEOUT_MS } from "../../src/domain/flow/plan/retry.ts";
import { chainAfter } from "../../src/domain/flow/plan/planner.ts";
import type { PlanNode } from "../../src/domain/flow/plan/types.ts";
import type { ExecuteInput, StoredScope } from "../../src/domain/runs/run-report.ts";
import { storedScope, type Frame } from "./frame.ts";

/** Longest values (characters) that an activity receives for the nodes of its chain, because its input stays in the history. */
const MAX_SCOPE_CHARS = 256 * 1024;

/** The input of a node's activity: for the node alone, or with the nodes after it that it may also execute. */
export interface ActivityScope {
  readonly given: Pick<ExecuteInput, "scope" | "chain">;
  /** The longest time limit among the nodes (ms). */
  readonly timeoutMs: number;
}

export function activityScope(frame: Frame, node: PlanNode): ActivityScope {
  const scope = storedScope(frame, node);
  const alone = { given: { scope }, timeoutMs: node.timeout_ms ?? DEFAULT_NODE_TIMEOUT_MS };
  if (frame.outer) return alone;
  const followers = chainAfter(frame.plan, node);
  // A reused node is not executed, so the chain ends before it.
  const reused = followers.findIndex(({ id }) => frame.reuse !== undefined && Object.hasOwn(frame.reuse, id));
  const chain = reused === -1 ? followers : followers.slice(0, reused);
  if (chain.length === 0) return alone;
  const scopes = [scope, ...chain.map((follower) => storedScope(frame, follower))];
  const nodes: StoredScope["nodes"] = Object.assign({}, ...scopes.map((each) => each.nodes));
  const inputs: StoredScope["inputs"] = Object.assign({}, ...scopes.map((each) => each.inputs));
  if (charsOf(nodes) > MAX_SCOPE_CHARS) return alone;
  return {
    given: { scope: { ...scope, nodes, inputs }, chain: chain.map(({ id }) => id) },
    timeoutMs: Math.max(alone.timeoutMs, ...chain.map(({ timeout_ms = DEFAULT_NODE_TIMEOUT_MS }) => timeout_ms)),
  };
}

function charsOf(values: StoredScope["nodes"]): number {
  return Object.values(values).reduce((chars, value) => chars + ("v" in value ? jsonLength(value.v) : 0), 0);
}
