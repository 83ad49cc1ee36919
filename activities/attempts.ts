import { Context } from "@temporalio/activity";

/** What the heartbeats of an activity carry from attempt to attempt. */
interface Carried {
  /** Attempts that were handed back before they began: see shares.ts. */
  readonly handed_back?: number;
  /** Attempts that ended in a fault of ours: see faults.ts. */
  readonly faults?: number;
}

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

/** A heartbeat, which keeps what is carried. */
export function beat(context: Context, more: object = {}): void {
  const handed_back = handedBack(context);
  const faults = faultsBefore(context);
  const kept: Carried = { ...(handed_back === 0 ? {} : { handed_back }), ...(faults === 0 ? {} : { faults }) };
  context.heartbeat({ ...kept, ...more });
}

const MIN_BEAT_MS = 1000;
/** A worker that is gone is noticed after 10 s: two heartbeats may be lost. */
const MAX_BEAT_MS = 4000;
/** Each heartbeat is a write of Temporal: with many activities under way, they come less often (ms an activity). */
const BEAT_SPACING_MS = 20;

let beating = 0;

/** Sends heartbeats while `work` is under way: a worker that is gone is noticed by them. */
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
