import type { NodeRun } from "./runs.ts";

export const NODE_EVENTS = ["node.started", "node.retrying", "node.finished"] as const;

/** A change of one node. */
export interface NodeEvent {
  readonly type: (typeof NODE_EVENTS)[number];
  readonly at: string;
  readonly data: {
    readonly node_id: string;
    readonly path: string;
    readonly type: NodeRun["type"];
    readonly state?: NodeRun["state"];
    readonly attempt?: number;
    readonly attempts?: number;
    readonly error?: NodeRun["error"];
    readonly started_at?: string | null;
    readonly finished_at?: string | null;
    readonly next_attempt_at?: string | null;
  };
}

const ENDED: readonly string[] = ["COMPLETED", "SKIPPED", "FAILED", "CANCELLED"];
const NO_USAGE = { input_tokens: 0, output_tokens: 0, total_tokens: 0, cost_usd: 0, estimated: false };

/** The nodes of a run after these events. Events may repeat; a finished node does not change again. */
export function afterEvents(nodes: readonly NodeRun[], events: readonly NodeEvent[]): NodeRun[] {
  const next = [...nodes];
  const places = new Map(next.map(({ path }, index) => [path, index]));
  for (const event of events) {
    const at = places.get(event.data.path);
    const node = afterEvent(at === undefined ? undefined : next[at], event);
    if (at !== undefined) next[at] = node;
    else {
      places.set(node.path, next.length);
      next.push(node);
    }
  }
  return next;
}

function afterEvent(known: NodeRun | undefined, { type, at, data }: NodeEvent): NodeRun {
  const node = known ?? started(data, at);
  if (known !== undefined && (ENDED.includes(known.state) || type === "node.started")) return known;
  const attempt = data.attempt ?? data.attempts ?? 1;
  if (type === "node.started" || attempt < node.attempts) return node;
  const error = data.error ?? null;
  const hasEnded = type === "node.finished";
  const isTriedAgain = attempt > 1 || type === "node.retrying";
  const entry = {
    attempt,
    started_at: node.attempt_log.find((each) => each.attempt === attempt)?.started_at ?? data.started_at ?? at,
    ended_at: hasEnded || error !== null ? at : null,
    error,
    next_attempt_at: data.next_attempt_at ?? null,
  };
  return {
    ...node,
    state: hasEnded ? (data.state ?? "COMPLETED") : "RETRYING",
    attempts: attempt,
    error,
    started_at: node.started_at ?? data.started_at ?? null,
    finished_at: hasEnded ? (data.finished_at ?? at) : null,
    next_attempt_at: data.next_attempt_at ?? null,
    attempt_log: isTriedAgain ? [...node.attempt_log.filter((each) => each.attempt !== attempt), entry] : [],
  };
}

function started({ node_id, path, type, state, started_at }: NodeEvent["data"], at: string): NodeRun {
  return {
    node_id,
    path,
    type,
    state: state ?? "RUNNING",
    attempts: 1,
    inputs: null,
    output: null,
    truncated: false,
    error: null,
    started_at: started_at === undefined ? at : started_at,
    finished_at: null,
    next_attempt_at: null,
    pinned: false,
    reused: false,
    usage: NO_USAGE,
    attempt_log: [],
    child_run_id: null,
  };
}
