import { CancellationScope, isCancellation } from "@temporalio/workflow";
import { INLINE_VALUE_BYTES, jsonLength, type StoredValue } from "../../src/domain/json.ts";
import type { PlanNode } from "../../src/domain/flow/plan/types.ts";
import type { RunError } from "../../src/domain/runs/run.ts";
import type { NodeReport } from "../../src/domain/runs/run-report.ts";
import { errorValue, NodeFailed, toRunError } from "./failure.ts";
import { address, inlineScope, storedScope, withoutRedacted, type Frame, type Settled } from "./frame.ts";
import { executeNode } from "./nodes/index.ts";
import { withinTimeLimit } from "./node-time-limit.ts";
import { evaluate, evaluateHere, passThroughValue, isPassThrough, type Evaluated } from "./values.ts";

/** A node in progress, and when it started. */
interface Timed {
  readonly node: PlanNode;
  readonly startedAt: string;
}

/**
 * Executes a frame's flow to its end. Inline nodes settle synchronously, other nodes run concurrently. Returns undefined if all nodes were
 * inline, otherwise a promise. A node that fails for good cancels the others and throws NodeFailed; a cancellation is thrown as such.
 */
export function runFrame(frame: Frame): Promise<void> | undefined {
  const timed = walk(frame);
  const first = timed.next();
  return first.done ? undefined : runTimed(frame, first.value, timed);
}

/** Settles the inline nodes that become ready, and yields the other nodes that do. Throws if one fails for good. */
function* walk(frame: Frame): Generator<Timed, void> {
  for (let ready = frame.walk.takeReady(); ready.length > 0; ready = frame.walk.takeReady()) {
    for (const node of ready) {
      if (frame.ctx.cancellation.stopped) return;
      const startedAt = now();
      const settled = begin(frame, node, startedAt);
      if (settled) settle(frame, node, settled);
      else yield { node, startedAt };
    }
  }
}

/**
 * Runs asynchronous nodes and the nodes after them. Inline nodes get no scopes and promises, because the SDK keeps a stack trace of each
 * promise, and a scope creates nine.
 */
async function runTimed(frame: Frame, first: Timed, others: Iterable<Timed>): Promise<void> {
  const { cancellation, record } = frame.ctx;
  record.writeWhileWaiting();
  // A nested flow stops with the node around it; the run's own flow stops with the run.
  const parent = frame.outer ? CancellationScope.current() : cancellation.scope;
  const scope = new CancellationScope({ cancellable: true, parent });
  let underWay = 0;
  let failure: { readonly error: unknown } | undefined;
  await scope.run(
    () =>
      new Promise<void>((resolve) => {
        const fail = (error: unknown): void => {
          failure ??= { error };
          scope.cancel();
        };
        const run = async ({ node, startedAt }: Timed): Promise<void> => {
          underWay += 1;
          try {
            settle(frame, node, await execute(frame, node, startedAt));
            if (!failure) runAll(walk(frame));
          } catch (error) {
            fail(error);
          }
          underWay -= 1;
          if (underWay === 0) resolve();
        };
        const runAll = (nodes: Iterable<Timed>): void => {
          try {
            for (const timed of nodes) void run(timed);
          } catch (error) {
            fail(error);
          }
        };
        void run(first);
        runAll(others);
      }),
  );
  if (failure) throw failure.error;
}

function settle(frame: Frame, node: PlanNode, settled: Settled): void {
  frame.values.set(node.id, settled);
  frame.ctx.record.nodeSettled(frame.outer === null, settled.state === "SKIPPED");
  for (const skipped of frame.walk.settle(node.id, settled.handles)) {
    frame.values.set(skipped.id, { value: { v: null }, handles: [], state: "SKIPPED" });
    frame.ctx.record.nodeSettled(frame.outer === null, true);
    note(frame, skipped, { ...NOT_STARTED, state: "SKIPPED" });
  }
}

/** Starts a node, and settles it synchronously if possible; otherwise returns undefined. */
function begin(frame: Frame, node: PlanNode, startedAt: string): Settled | undefined {
  const reused = frame.reuse && Object.hasOwn(frame.reuse, node.id) ? frame.reuse[node.id] : undefined;
  if (reused) {
    note(frame, node, {
      ...NOT_STARTED,
      reused: true,
      state: reused.state,
      ...(reused.state === "SKIPPED" ? {} : { value: reused.value }),
    });
    return { value: reused.value, handles: reused.handles, state: reused.state };
  }
  frame.ctx.record.nodeStarted(node, frame.outer === null);
  try {
    const result = node.execution === "inline" ? inline(frame, node) : undefined;
    if (result === undefined) return undefined;
    if (result === "skip") return skipped(frame, node);
    completed(frame, node, firstSeen(startedAt), result.value);
    return { value: result.value, handles: result.handles ?? ["out"], state: "COMPLETED" };
  } catch (error) {
    return failed(frame, node, firstSeen(startedAt), error);
  }
}

/**
 * Executes an inline node; undefined if it must run asynchronously, because a value is in the blob store, it is too much work, or the
 * result is too long.
 */
function inline(frame: Frame, node: PlanNode): Evaluated | "skip" | undefined {
  const needsScope = node.skip_if !== undefined || !isPassThrough(node);
  const scope = needsScope ? inlineScope(storedScope(frame, node), frame.ctx.input.run_id) : undefined;
  if (scope === null) return undefined;
  if (scope && node.skip_if !== undefined) {
    const skip = evaluateHere(frame, node, "skip_if", scope);
    if (!skip) return undefined;
    if (skip.output === true) return "skip";
  }
  if (!scope || isPassThrough(node)) {
    const value = passThroughValue(frame, node);
    return value && { value };
  }
  const result = evaluateHere(frame, node, "node", scope);
  if (!result) return undefined;
  if (jsonLength(result.output) > INLINE_VALUE_BYTES) return undefined;
  return { value: { v: result.output }, ...(result.handles ? { handles: result.handles } : {}) };
}

/** Executes a node asynchronously. */
async function execute(frame: Frame, node: PlanNode, startedAt: string): Promise<Settled> {
  const { path } = address(frame, node);
  frame.ctx.work.running.add(path);
  const seen = firstSeen(startedAt);
  try {
    if (node.skip_if !== undefined) {
      const { value } = await evaluate(frame, node, "skip_if");
      if ("v" in value && value.v === true) return skipped(frame, node);
    }
    const result = await withinTimeLimit(node, () =>
      executeNode(frame, node, {
        runFrame,
        onAttempt(attempt) {
          seen.attempts = attempt;
        },
        announce(state = "RUNNING", more = {}) {
          note(frame, node, { ...seen, state, ...more });
          seen.announced = true;
        },
        complete: (value) => completed(frame, node, seen, value),
      }),
    );
    if (!result.recorded) completed(frame, node, seen, result.value);
    return { value: result.value, handles: result.handles ?? ["out"], state: "COMPLETED" };
  } catch (error) {
    if (isCancellation(error)) {
      note(frame, node, { ...seen, state: "CANCELLED" });
      throw error;
    }
    return failed(frame, node, seen, error);
  } finally {
    frame.ctx.work.running.delete(path);
  }
}

/** The progress of a node. */
interface Seen {
  readonly startedAt: string | null;
  attempts: number;
  /** Whether an earlier report contained the node's start. */
  announced: boolean;
}

const firstSeen = (startedAt: string): Seen => ({ startedAt, attempts: 1, announced: false });
const NOT_STARTED: Seen = { startedAt: null, attempts: 0, announced: false };

function completed(frame: Frame, node: PlanNode, seen: Seen, value: StoredValue): void {
  note(frame, node, { ...seen, state: "COMPLETED", value });
}

function skipped(frame: Frame, node: PlanNode): Settled {
  note(frame, node, { ...NOT_STARTED, state: "SKIPPED" });
  return { value: { v: null }, handles: [], state: "SKIPPED" };
}

/** Applies the node's `on_error`: fails the flow, continues with a default value, or takes the error branch. */
function failed(frame: Frame, node: PlanNode, seen: Seen, thrown: unknown): Settled {
  const attempt = seen.attempts;
  const { path } = address(frame, node);
  const known = toRunError(thrown, { node_id: node.id, path }, attempt);
  if (!known && isCancellation(thrown)) throw thrown;
  // An unexpected error must fail the run with a message. If it were thrown, Temporal would retry the workflow task forever.
  const error: RunError = (known && { ...known.error, message: withoutRedacted(frame, known.error.message) }) ?? {
    code: "internal_error",
    message: `The node could not be executed: ${thrown instanceof Error ? thrown.name : "unknown error"}.`,
    node_id: node.id,
    path,
    attempt,
    retryable: false,
  };
  const recorded = thrown instanceof NodeFailed && thrown.recordedAt === path;
  const value: StoredValue = { v: node.default_output ?? null };
  if (!recorded) {
    note(frame, node, { ...seen, state: "FAILED", error, ...(node.on_error === "continue" ? { value } : {}) });
  }
  switch (node.on_error) {
    case "continue":
      return { value, handles: ["out"], state: "FAILED" };
    case "branch":
      return {
        value: {
          v: { error: errorValue(error) },
        },
        handles: ["error"],
        state: "FAILED",
      };
    case "fail":
      throw new NodeFailed(error);
    default:
      return node.on_error satisfies never;
  }
}

function note(
  frame: Frame,
  node: PlanNode,
  { startedAt, announced, ...what }: Seen & Pick<NodeReport, "state" | "value" | "error" | "reused" | "due_at">,
): void {
  if (what.state === "COMPLETED" && frame.outer === null && frame.ctx.ahead.hasRecorded(node.id)) return;
  const running = what.state === "RUNNING" || what.state === "PAUSED";
  frame.ctx.record.note({
    node_id: node.id,
    type: node.type,
    path: frame.prefix + node.id,
    started_at: startedAt,
    finished_at: running ? null : now(),
    ...what,
    ...(announced ? { announced } : {}),
  });
}

function now(): string {
  return new Date(Date.now()).toISOString();
}
