import { setTimeout as delay } from "node:timers/promises";

/** Most concurrent starts. */
const MAX_WINDOW = 16;
/** At the slowest, it rests three times as long as a start takes. */
const MIN_WINDOW = 0.25;
/** Calls that take this many times as long as undisturbed ones show that too much is in flight. */
const TOLERANCE = 3;
/** Tolerance of a call (ms): smaller differences are noise on a quiet machine. */
const SLACK_MS = 5;
/** Factor a call by which the measure of an undisturbed call grows, to follow a Temporal that has become slower. */
const DRIFT = 1.0005;

/** Decides by how long calls take how many of them run at once, and how long to rest between them. */
export interface Pace {
  /** How many calls to make next, concurrently. */
  batch(): number;
  /** Notes how long a call took (ms). */
  note(ms: number): void;
  /** Waits before the next batch if even one call at a time is too much. */
  rest(): Promise<void>;
}

/** Additive increase, multiplicative decrease, as for the window of a connection: no knowledge of the cluster is needed. */
export function createPace(sleep: (ms: number) => Promise<unknown> = delay): Pace {
  let window = 1;
  let undisturbed = Number.POSITIVE_INFINITY;
  let slowest = 0;
  return {
    batch: () => Math.max(1, Math.floor(window)),
    note(ms) {
      undisturbed = Math.min(ms, undisturbed * DRIFT);
      slowest = Math.max(slowest, ms);
    },
    async rest() {
      const took = slowest;
      slowest = 0;
      if (took > undisturbed * TOLERANCE + SLACK_MS) window = Math.max(MIN_WINDOW, window / 2);
      else window = Math.min(MAX_WINDOW, window < 1 ? window * 1.5 : window + 1);
      if (window < 1) await sleep(took * (1 / window - 1));
    },
  };
}
