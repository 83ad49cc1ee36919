import { Context } from "@temporalio/activity";
import { NodeFailure } from "../src/domain/runs/failure.ts";

/** Heartbeat details that an activity keeps from attempt to attempt. */
interface Carried {
  /** Attempts that were handed back before they started: see shares.ts. */
  readonly handed_back?: number;
  /** Attempts that ended with a bug: see faults.ts. */
  readonly faults?: number;
  /** Attempts that ended with an error known to Temporal. */
  readonly answered?: number;
}

/** A node fails after this many attempts without an answer. */
const MAX_UNANSWERED = 5;

function carried({ info }: Pick<Context, "info">): Carried {
  return (info.heartbeatDetails as Carried | undefined) ?? {};
}

export function handedBack(context: Pick<Context, "info">): number {
  return carried(context).handed_back ?? 0;
}

export function faultsBefore(context: Pick<Context, "info">): number {
  return carried(context).faults ?? 0;
}

/** Attempts that started, this one included. Temporal also counts attempts that were handed back. */
export function attemptOf(context: Pick<Context, "info">): number {
  return context.info.attempt - handedBack(context);
}

/**
 * Throws the failure of a node whose attempts end without an answer: its process dies, or is blocked for so long that
 * Temporal considers it dead. Such a node must not take down one process after the other.
 */
export function requireAnswers(context: Pick<Context, "info">): void {
  const unanswered = attemptOf(context) - 1 - (carried(context).answered ?? 0);
  if (unanswered < MAX_UNANSWERED) return;
  throw new NodeFailure(
    "worker_lost",
    `${unanswered} attempts of this node ended without an answer: the process that executed it has ended each time. Does it need more memory than there is?`,
  );
}

/** Wraps an activity: an attempt that ends with an error is not counted as one that ends without an answer. */
export function countAnswers<Input, Output>(
  work: (input: Input) => Promise<Output>,
): (input: Input) => Promise<Output> {
  return async (input) => {
    try {
      return await work(input);
    } catch (error) {
      const context = Context.current();
      beat(context, { answered: (carried(context).answered ?? 0) + 1 });
      throw error;
    }
  };
}

/** Sends a heartbeat with the kept details. */
export function beat(context: Context, more: object = {}): void {
  const kept = Object.fromEntries(Object.entries(carried(context)).filter(([name, n]) => COUNTS.has(name) && n !== 0));
  context.heartbeat({ ...kept, ...more });
}

/** The details that every heartbeat repeats. */
const COUNTS: ReadonlySet<string> = new Set<keyof Carried>(["handed_back", "faults", "answered"]);

const MIN_BEAT_MS = 1000;
/** A dead worker is noticed after 10 s: two heartbeats may be lost. */
const MAX_BEAT_MS = 4000;
/**
 * Least time between an activity's heartbeats for each concurrent activity (ms): each heartbeat is a write of
 * Temporal.
 */
const BEAT_SPACING_MS = 20;

let beating = 0;

/** Sends heartbeats while `work` runs. They stop when the worker dies, which Temporal notices. */
export async function whileBeating<T>(work: () => Promise<T>): Promise<T> {
  const context = Context.current();
  let timer: NodeJS.Timeout | undefined;
  const again = (): void => {
    timer = setTimeout(
      () => {
        beat(context);
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
