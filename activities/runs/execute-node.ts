import { Context } from "@temporalio/activity";
import { NodeFailure, statusIn } from "../../src/domain/runs/failure.ts";
import { KINDS } from "../../src/domain/flow/kinds.ts";
import type { RedactPath } from "../../src/domain/flow/redact.ts";
import { maskQuoted } from "../../src/domain/flow/redacted-texts.ts";
import { kindsSeenFrom, mapsThatFail } from "../../src/domain/flow/plan/places.ts";
import { ofKind } from "../../src/domain/flow/plan/by-kind.ts";
import type { PlanNode } from "../../src/domain/flow/plan/types.ts";
import type { Scope } from "../../src/domain/flow/scope.ts";
import type { StoredValue } from "../../src/domain/json.ts";
import { DEFAULT_NODE_TIMEOUT_MS, retryDelayMs } from "../../src/domain/flow/plan/retry.ts";
import { mayShowText } from "../../src/domain/flow/plan/shown-texts.ts";
import type { RunError } from "../../src/domain/runs/run.ts";
import type { ExecuteInput, NodeReport } from "../../src/domain/runs/run-report.ts";
import { isBlobOutage, storeValue, type BlobStore } from "../../src/platform/blobs/blobs.ts";
import { isBusy } from "../../src/platform/children/pool-failure.ts";
import { createTimeLimit } from "../../src/platform/time-limit.ts";
import { isConnectionError } from "../../src/stores/db.ts";
import { whileDatabaseIsAway } from "../../src/stores/patience.ts";
import { attemptOf, requireAnswers, stopWith } from "../attempts.ts";
import { MAX_FAULTS } from "../faults.ts";
import { toApplicationFailure } from "../failures.ts";
import { executeByKind, type NodeExecutors } from "../nodes/by-kind.ts";
import type { NodeOutcome } from "../nodes/executor.ts";
import type { PlanCache } from "../../src/services/projects/plans.ts";
import { holdingAnswers } from "../../src/platform/fetch/held-answers.ts";
import { asCallOf } from "../../src/platform/fetch/own-calls.ts";
import type { Recorded, RunRecorder } from "../../src/services/runs/run-recorder.ts";
import type { RunTraces } from "../../src/services/runs/run-traces.ts";
import { loadScope } from "./values.ts";

/** A node that takes longer than this is recorded as running; a shorter one is recorded only once, when it has finished (ms). */
const ANNOUNCE_AFTER_MS = 1000;
/** The same for a node that carries other nodes' reports (ms). Shorter, because streams wait for the outputs among them. */
const FLUSH_AFTER_MS = 250;
/** Longest wait for a retry within the activity (ms), because Temporal's timers take at least a second. */
const MAX_WAIT_HERE_MS = 2000;
/** How long an activity retries within itself (ms), since the activity's own time limit is meant for one attempt. */
const MAX_STAY_MS = 60_000;
/** Longest wait for a database that is down, to record a node's outcome (ms). The activity's own time limit is longer. */
const INSIST_MS = 600_000;

export interface ExecuteNodeDeps {
  readonly blobs: BlobStore;
  readonly plans: PlanCache;
  readonly recorder: RunRecorder;
  readonly traces: RunTraces;
  readonly executors: NodeExecutors;
}

/** Options for a node that follows another one in the same activity. */
export interface AsFollower {
  /** When it was recorded as running (RFC 3339). */
  readonly announcedAt?: string;
  /** Whether no earlier attempt of the activity can have started it. */
  readonly isFirstTry?: boolean;
  /** Returns the reports of nodes that follow from the value, which are written together with it. */
  readonly alongside?: (value: StoredValue) => Promise<readonly NodeReport[]>;
}

/** Executes one node, and records it. Throws its failure as the workflow understands it. */
export type ExecuteOne = (input: ExecuteInput, as?: AsFollower) => Promise<Executed>;

interface Executed {
  readonly value: StoredValue;
  /** Whether the node was executed now; false if the record already had its end. */
  readonly executed: boolean;
  /** Whether the run must start no further nodes; known only if the end was written now. */
  readonly stopped: boolean;
}

/** `repeated`: whether a worker that died started this attempt before. */
type AttemptInput = ExecuteInput & {
  readonly repeated: boolean;
  readonly may_show: boolean;
  readonly knowledge: readonly string[];
  readonly redact: readonly RedactPath[];
  /** The maps around the node that fail with it. */
  readonly failing: ReadonlyArray<{ readonly node: PlanNode; readonly path: string }>;
  readonly as: AsFollower;
};

/** `waitMs`: when the next attempt is due; null if there is none. */
type AttemptOutcome =
  | {
      readonly value: StoredValue;
      readonly stopped: boolean;
      readonly failure?: undefined;
      readonly waitMs?: undefined;
    }
  | {
      readonly value?: undefined;
      readonly stopped?: undefined;
      readonly failure: NodeFailure;
      readonly waitMs: number | null;
    };

/**
 * Executes a node and records the outcome: one write an attempt, or two for a long attempt. A retry that is due soon is
 * made here. Temporal repeats the activity if a worker died or could not report its end; if the record already has the
 * node's outcome, that is returned and nothing is executed again.
 */
export function createExecuteNode({ blobs, plans, recorder, traces, executors }: ExecuteNodeDeps): ExecuteOne {
  return async function executeNode(input, as = {}) {
    const context = Context.current();
    const { run, path } = input;
    const began = Date.now();
    const loaded = await plans.get(run);
    const node = partOf(loaded.node(input.plan_path), input);
    const may_show = mayShowText(loaded.plan, loaded.redact, input.plan_path);
    const attempts = attemptOf(context);
    const mayBeRepeated = attempts > 1 && as.isFirstTry !== true;
    const earlier = mayBeRepeated || run.restarted ? await recorder.earlier(run, path) : null;
    // The record of a model's step is only for display and lacks the value that the workflow needs.
    if (earlier?.state === "COMPLETED" && input.part?.kind !== "step")
      return { value: earlier.value, executed: false, stopped: false };
    if (earlier?.state === "FAILED") throw toApplicationFailure(failureOf(earlier.error), earlier.error.attempt);
    const scope = await loadScope(blobs, input.scope, run.run_id);
    const kinds = KINDS[node.type].cites ? kindsSeenFrom(loaded.plan, input.plan_path) : null;
    const knowledge = kinds === null ? [] : Object.keys(scope.nodes).filter((id) => kinds.get(id) === "knowledge");
    let flush = input.flush;
    const failing = input.sliced && !input.part ? mapsThatFail((at) => loaded.node(at), input) : [];
    let repeated = mayBeRepeated || earlier !== null;
    const first = Math.max(input.attempt, (earlier?.attempts ?? 0) + 1);
    // Only the first attempt was recorded as running by the node before it.
    const { announcedAt: _announcedAt, ...unannounced } = as;
    for (let attempt = first; ; attempt += 1) {
      const { redact } = loaded;
      const made = { ...input, failing, redact, attempt, flush, repeated, may_show, knowledge };
      const traced = { ...run, path, node_id: node.id, type: node.type, attempt, redacts: redact.length > 0 };
      const { value, stopped, failure, waitMs } = await traces.attempt(
        traced,
        () => makeAttempt(context, node, scope, { ...made, as: attempt === first ? as : unannounced }),
        (outcome) => outcome.failure?.code,
      );
      repeated = false;
      if (value) return { value, executed: true, stopped };
      if (waitMs === null || waitMs > MAX_WAIT_HERE_MS || Date.now() - began > MAX_STAY_MS)
        throw toApplicationFailure(failure, attempt);
      flush = [];
      await context.sleep(waitMs);
    }
  };

  async function makeAttempt(
    context: Context,
    node: PlanNode,
    scope: Scope,
    input: AttemptInput,
  ): Promise<AttemptOutcome> {
    const { run, path, attempt, progress, flush } = input;
    const stop = stopWith(context);
    const { announcedAt } = input.as;
    const startedAt = announcedAt ?? new Date().toISOString();
    const type = input.part?.kind === "tool" ? input.part.call.type : node.type;
    const base = { node_id: node.id, type, path, attempts: attempt, started_at: startedAt };
    let carried: readonly NodeReport[] = flush;
    const done = input.part === undefined ? 1 : 0;
    let announced = announcedAt !== undefined;

    const write = async (report: NodeReport, ended: number, more: readonly NodeReport[] = []): Promise<Recorded> => {
      const nodes = [...carried, { ...report, announced }, ...more];
      const reached = { ...progress, completed_nodes: progress.completed_nodes + ended };
      const recorded = await recorder.record({ run, progress: reached, nodes });
      carried = [];
      return recorded;
    };

    const timeLimit = createTimeLimit(node.timeout_ms ?? DEFAULT_NODE_TIMEOUT_MS, () => stop.abort(timeout(node)));
    let announcing: Promise<void> | undefined;
    const announceAfterMs = flush.length > 0 ? FLUSH_AFTER_MS : ANNOUNCE_AFTER_MS;
    const announce = setTimeout(() => {
      if (announced) return;
      announcing = write({ ...base, state: attempt > 1 ? "RETRYING" : "RUNNING", finished_at: null }, 0).then(
        () => {
          announced = true;
        },
        // A failed announcement only delays the record, because the node's end is still written or the attempt is
        // repeated.
        () => undefined,
      );
    }, announceAfterMs);

    const executed = async (): Promise<void> => {
      timeLimit.stop();
      clearTimeout(announce);
      await announcing;
    };

    try {
      const work = async () => {
        const outcome = await timeLimit.within(() => asCallOf(run, () => execute(node, scope, input, stop.signal)));
        return { outcome, value: await storeValue(blobs, run.org_id, outcome.output) };
      };
      requireAnswers(context);
      const { outcome, value } = await holdingAnswers(run.org_id, work);
      await executed();
      const finished_at = new Date().toISOString();
      const ended = { ...base, ...detailsOf(outcome), state: "COMPLETED", value, finished_at } as const;
      const more = await input.as.alongside?.(value);
      const { stopped } = await insist(context, () => write(ended, done, more));
      return { value: outcome.carried ?? value, stopped };
    } catch (thrown) {
      await executed();
      const reason: unknown = stop.signal.aborted ? stop.signal.reason : ours(thrown, attemptOf(context));
      if (!(reason instanceof NodeFailure)) throw reason;
      reason.message = maskQuoted(reason.message, input.redact, scope);
      const retrying = reason.retryable && attempt < node.retry.max_attempts;
      const waitMs = retrying ? retryDelayMs(node, attempt, reason.retry_after_ms) : null;
      const error: RunError = {
        code: reason.code,
        message: reason.message,
        node_id: node.id,
        path,
        attempt,
        retryable: reason.retryable,
        ...(reason.upstream ? { upstream: true } : {}),
        ...statusIn(reason.upstream_status),
      };
      const now = Date.now();
      const at = new Date(now).toISOString();
      if (!retrying) carried = [...carried, ...input.failing.map((map) => stopping(map, error))];
      await insist(context, () =>
        write(
          {
            ...base,
            state: retrying ? "RETRYING" : "FAILED",
            error,
            finished_at: retrying ? null : at,
            ...(retrying ? { failed_at: at } : {}),
            ...(waitMs === null ? {} : { next_attempt_at: new Date(now + waitMs).toISOString() }),
            // With `on_error: continue`, the flow continues with the node's default output.
            ...(retrying || node.on_error !== "continue" ? {} : { value: { v: node.default_output ?? null } }),
          },
          0,
        ),
      );
      return { failure: reason, waitMs };
    } finally {
      clearTimeout(announce);
      timeLimit.stop();
      stop.end();
    }
  }

  async function execute(node: PlanNode, scope: Scope, input: AttemptInput, signal: AbortSignal): Promise<NodeOutcome> {
    const { org_id, project_id, flow_version, run_id } = input.run;
    const { path, attempt, repeated, may_show, knowledge } = input;
    const caller = { org_id, project_id, flow_version, run_id, path, attempt, repeated, may_show, knowledge };
    const masked = input.redact.length > 0;
    const execution = { ...caller, masked, scope, idempotency_key: `${run_id}:${path}`, signal };
    if (input.part) return executors.agent({ ...execution, config: ofKind(node, "llm").config }, input.part);
    return executeByKind(executors, node, execution);
  }
}

/** Tells the other slices of a map that it has failed: they start no more nodes. The workflow records the map's end. */
function stopping({ node, path }: AttemptInput["failing"][number], error: RunError): NodeReport {
  const base = { node_id: node.id, type: node.type, path, attempts: 1, started_at: null, finished_at: null };
  return { ...base, state: "RUNNING", error, announced: true };
}

/** The node for executing one of its parts. A part always fails, because the whole node applies its `on_error`. */
function partOf(node: PlanNode, { part }: ExecuteInput): PlanNode {
  return part === undefined ? node : { ...node, on_error: "fail" };
}

/**
 * Records a node's outcome. Waits here for an unreachable database, because another attempt would repeat the node's
 * effects.
 */
function insist(context: Context, write: () => Promise<Recorded>): Promise<Recorded> {
  return whileDatabaseIsAway(write, { maxMs: INSIST_MS, sleep: (ms) => context.sleep(ms) });
}

function failureOf({ code, message, retryable, upstream, upstream_status }: RunError): NodeFailure {
  return new NodeFailure(code, message, { retryable, upstream: upstream === true, upstream_status });
}

/**
 * An error is a bug, unless it is the node's own failure, an unreachable database or blob store, or a full queue. A bug
 * may be transient, so Temporal repeats the attempt a few times. Then the node fails with a message instead of being
 * repeated until the run's time limit.
 */
function ours(thrown: unknown, attempt: number): unknown {
  const passes = isConnectionError(thrown) || isBlobOutage(thrown) || isBusy(thrown);
  if (thrown instanceof NodeFailure || passes || attempt < MAX_FAULTS) return thrown;
  return new NodeFailure("internal_error", "The node could not be executed because of an internal error.", {
    cause: thrown,
  });
}

function timeout(node: PlanNode): NodeFailure {
  const upstream = KINDS[node.type].slow === "service";
  const message = `The node did not finish within its timeout of ${node.timeout_ms ?? DEFAULT_NODE_TIMEOUT_MS} ms.`;
  return new NodeFailure("node_timeout", message, { retryable: upstream, upstream });
}

function detailsOf({ inputs, citations, reused }: NodeOutcome): Pick<NodeReport, "inputs" | "citations" | "reused"> {
  return {
    ...(inputs === undefined ? {} : { inputs }),
    ...(citations === undefined ? {} : { citations }),
    ...(reused === true ? { reused } : {}),
  };
}
