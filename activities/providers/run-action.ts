import { CancelledFailure, Context } from "@temporalio/activity";
import type { Json } from "../../src/domain/json.ts";
import type { ActionError, ExecuteAction } from "../../src/domain/providers/action-run.ts";
import { NodeFailure } from "../../src/domain/runs/failure.ts";
import { attemptOf, stopWith } from "../attempts.ts";
import { MAX_FAULTS } from "../faults.ts";
import { createTimeLimit } from "../../src/platform/time-limit.ts";
import { isBlobOutage, loadValue, storeValue } from "../../src/platform/blobs/blobs.ts";
import { redactSecrets } from "../../src/platform/logging/redaction.ts";
import type { Parts } from "../../src/services/parts.ts";
import { isConnectionError, type Database } from "../../src/stores/db.ts";
import { whileDatabaseIsAway } from "../../src/stores/patience.ts";
import {
  findActionRun,
  finishActionRun,
  type ActionRunEnd,
  type ActionRunRow,
} from "../../src/stores/providers/action-runs.ts";

const MAX_ATTEMPTS = 3;
const FIRST_WAIT_MS = 500;
const MAX_WAIT_MS = 10_000;
/** Longest wait for an unreachable database to record the outcome (ms). */
const INSIST_MS = 600_000;

export interface RunActionDeps extends Parts<"db" | "blobs"> {
  readonly executeAction: ExecuteAction;
}

/** Executes an action run and records its end once. */
export function createRunAction({ db, blobs, executeAction }: RunActionDeps) {
  return async function runAction(input: { org_id: string; action_run_id: string }): Promise<void> {
    const { org_id, action_run_id } = input;
    const context = Context.current();
    const run = await db.org(org_id, (connection) => findActionRun(connection, action_run_id));
    if (run === null || run.finished_at !== null) return;
    const began = Date.now();
    const end = await attempts(run, context);
    await whileDatabaseIsAway(
      () =>
        db.org(org_id, (connection) =>
          finishActionRun(connection, action_run_id, { ...end, latency_ms: Date.now() - began }),
        ),
      { maxMs: INSIST_MS, sleep: (ms) => context.sleep(ms) },
    );
  };

  async function attempts(run: ActionRunRow, context: Context): Promise<Omit<ActionRunEnd, "latency_ms">> {
    const inputs = await loadValue(blobs, run.inputs);
    const stop = stopWith(context);
    const limit = createTimeLimit(run.timeout_seconds * 1000, () => stop.abort(timeout(run)));
    try {
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await limit.within(() => once(run, inputs, stop.signal));
        } catch (thrown) {
          const failure = ours(stop.signal.aborted ? stop.signal.reason : thrown, thrown, attemptOf(context));
          if (!failure.retryable || attempt === MAX_ATTEMPTS || stop.signal.aborted) return failed(failure);
          const wait = Math.max(failure.retry_after_ms ?? 0, FIRST_WAIT_MS * 2 ** (attempt - 1));
          if (wait > MAX_WAIT_MS) return failed(failure);
          await context.sleep(wait);
        }
      }
    } finally {
      limit.stop();
      stop.end();
    }
  }

  async function once(run: ActionRunRow, inputs: Json, signal: AbortSignal): Promise<Omit<ActionRunEnd, "latency_ms">> {
    const idempotency_key = `${run.action_run_id}:action`;
    const answer = await executeAction({ ...run, inputs, idempotency_key, signal });
    const outputs = await storeValue(blobs, run.org_id, answer.outputs);
    return { outputs, error: null, rendered_request: answer.rendered_request };
  }
}

/**
 * The failure that ends the run of the action. Throws an error that Temporal should retry, such as an outage or an
 * internal error before the last attempt.
 */
function ours(reason: unknown, thrown: unknown, temporalAttempt: number): NodeFailure {
  // An unknown outcome stays unknown, even after the timeout.
  const known = thrown instanceof NodeFailure && thrown.code === "outcome_unknown" ? thrown : reason;
  if (known instanceof NodeFailure) return known;
  const passes = known instanceof CancelledFailure || isConnectionError(known) || isBlobOutage(known);
  if (passes || temporalAttempt < MAX_FAULTS) throw known;
  return new NodeFailure("internal_error", "The action could not be run because of an internal error.");
}

function timeout({ timeout_seconds }: ActionRunRow): NodeFailure {
  const message = `The action did not finish within its timeout of ${timeout_seconds} s.`;
  return new NodeFailure("action_timeout", message, { upstream: true, retryable: true });
}

function failed({ code, message, retryable, upstream_status }: NodeFailure): Omit<ActionRunEnd, "latency_ms"> {
  const error: ActionError = {
    code,
    message: redactSecrets(message),
    upstream_status: upstream_status ?? null,
    retryable,
  };
  return { outputs: null, error, rendered_request: null };
}

/** Ends a run of an action that cannot be carried out, for example because its inputs cannot be read. */
export async function failActionRun(
  db: Database,
  orgId: string,
  actionRunId: string,
  { code, message }: { readonly code: string; readonly message: string },
): Promise<void> {
  const end = failed(new NodeFailure(code, message));
  await db.org(orgId, (connection) => finishActionRun(connection, actionRunId, { ...end, latency_ms: 0 }));
}
