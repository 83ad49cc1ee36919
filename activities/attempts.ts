import { Context } from "@temporalio/activity";
import { NodeFailure } from "../src/domain/runs/failure.ts";
import { linkAbort, type LinkedAbort } from "../src/platform/linked-abort.ts";

/** Heartbeat details that an activity keeps from attempt to attempt. */
interface Carried {
  /** Attempts handed back to Temporal before they started; see shares.ts. */
  readonly handed_back: number;
  /** Attempts that hit a bug; see faults.ts. */
  readonly faults: number;
  /** Attempts that ended with an error which was reported to Temporal. */
  readonly answered: number;
}

/** A node fails after this many attempts that ended without a result or an error. */
const MAX_UNANSWERED = 5;

export function carried({ info }: Pick<Context, "info">): Carried {
  const { handed_back = 0, faults = 0, answered = 0 } = (info.heartbeatDetails ?? {}) as Partial<Carried>;
  return { handed_back, faults, answered };
}

/** The number of started attempts, including this one. Temporal's own count includes attempts that were handed back. */
export function attemptOf(context: Pick<Context, "info">): number {
  return context.info.attempt - carried(context).handed_back;
}

/**
 * Throws if a node's attempts end without a result because its process dies, or blocks until Temporal considers it
 * dead. Such a node must not crash one worker after the other.
 */
export function requireAnswers(context: Pick<Context, "info">): void {
  const unanswered = attemptOf(context) - 1 - carried(context).answered;
  if (unanswered < MAX_UNANSWERED) return;
  throw new NodeFailure(
    "worker_lost",
    `${unanswered} attempts of this node ended without a result, each time because the worker process died. Check whether the node needs more memory than the worker has.`,
  );
}

/** Wraps an activity: an attempt that ends with an error counts as answered. */
export function countAnswers<Input, Output>(
  work: (input: Input) => Promise<Output>,
): (input: Input) => Promise<Output> {
  return async (input) => {
    try {
      return await work(input);
    } catch (error) {
      const context = Context.current();
      beat(context, { answered: carried(context).answered + 1 });
      throw error;
    }
  };
}

/** Sends a heartbeat with the kept details. */
export function beat(context: Context, more: object = {}): void {
  const kept = Object.fromEntries(Object.entries(carried(context)).filter(([, count]) => count !== 0));
  context.heartbeat({ ...kept, ...more });
}

const MIN_BEAT_MS = 1000;
/** Temporal notices a dead worker after 10 s, so two heartbeats may be lost. */
const MAX_BEAT_MS = 4000;
/**
 * Least time between an activity's heartbeats for each concurrent activity (ms): Temporal writes each heartbeat to its
 * database.
 */
const BEAT_SPACING_MS = 20;

let beating = 0;

/**
 * Sends heartbeats while `work` runs, with `where` it is. They stop when the worker dies, which Temporal notices.
 */
export async function whileBeating<T>(work: () => Promise<T>, where?: () => object): Promise<T> {
  const context = Context.current();
  let timer: NodeJS.Timeout | undefined;
  const again = (): void => {
    timer = setTimeout(
      () => {
        beat(context, where?.());
        again();
      },
      Math.min(MAX_BEAT_MS, Math.max(MIN_BEAT_MS, beating * BEAT_SPACING_MS)),
    );
  };
  beating += 1;
  again();
  try {
    return await work();
  } finally {
    beating -= 1;
    clearTimeout(timer);
  }
}

/**
 * Creates an abort that also follows the activity's cancellation. Throws if the activity is already cancelled: the
 * signal does not fire again, so the work would run until its timeout.
 */
export function stopWith({ cancellationSignal }: Context): LinkedAbort {
  cancellationSignal.throwIfAborted();
  return linkAbort([cancellationSignal]);
}
