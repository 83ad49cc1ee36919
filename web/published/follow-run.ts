import { createParser } from "eventsource-parser";
import { ApiProblem } from "../api/problem.ts";
import type { Frame, RunState } from "./shapes.ts";

const WAITS_MS = [300, 1000, 2000, 4000, 8000];
/** A stream that is silent for longer is taken for dead; the server sends a comment every 15 s. */
const SILENCE_MS = 45_000;

const SETTLED: readonly RunState[] = ["COMPLETED", "FAILED", "CANCELLED", "PAUSED"];
export const isSettled = (state: RunState): boolean => SETTLED.includes(state);
const isTemporary = (error: unknown): boolean =>
  !(error instanceof ApiProblem) || error.status >= 500 || error.status === 429;

/** How to follow a run. */
interface Following {
  /** Opens the stream for the first time: starts the run, or reads one that has started. */
  readonly open: (signal: AbortSignal) => Promise<Response>;
  /** Opens the stream of a run again. */
  readonly reopen: (runId: string, signal: AbortSignal) => Promise<Response>;
  readonly onFrame: (frame: Frame) => void;
  /** Pauses that were answered before; the run may not have continued from them yet. */
  readonly answered: ReadonlySet<string>;
  /** Called when the connection is lost and when it is there again. */
  readonly onConnected: (isConnected: boolean) => void;
  readonly signal: AbortSignal;
  /** Waits between attempts to reach the server again (ms); the last one repeats. */
  readonly waits?: readonly number[];
}

/**
 * Follows a run until it finishes or asks the visitor, over lost connections and restarts of the server. Throws an ApiProblem
 * where a request is refused, and the signal's reason when it is aborted.
 */
export async function followRun({
  open,
  reopen,
  onFrame,
  answered,
  onConnected,
  signal,
  waits = WAITS_MS,
}: Following): Promise<void> {
  let runId: string | null = null;
  /** Whether the run waits for a decision of other people, which no frame announces. */
  let isElsewhere = false;
  let wasConnected = true;
  const tell = (isConnected: boolean): void => {
    if (isConnected !== wasConnected) onConnected(isConnected);
    wasConnected = isConnected;
  };
  for (let failures = 0; ;) {
    try {
      const response: Response = await (runId === null ? open(signal) : reopen(runId, signal));
      tell(true);
      // An output is whole where a stream names it first: what an earlier stream had of it comes again.
      const seen = new Set<string>();
      for await (const frame of framesOf(response)) {
        failures = 0;
        runId = frame.run_id;
        isElsewhere = frame.state === "PAUSED" && frame.pauses.every(({ answerable }) => !answerable);
        const isBehind = frame.state === "PAUSED" && frame.pauses.every(({ pause_id }) => answered.has(pause_id));
        const shown: Frame = isBehind ? { ...frame, state: "RESUMED", pauses: [] } : frame;
        const outputs = Object.entries(frame.outputs);
        const whole = outputs.filter(([id]) => !seen.has(id));
        const more = outputs.filter(([id]) => seen.has(id));
        for (const [id] of whole) seen.add(id);
        if (whole.length > 0) onFrame({ ...shown, outputs: Object.fromEntries(whole), reset: true });
        if (whole.length === 0 || more.length > 0) onFrame({ ...shown, outputs: Object.fromEntries(more) });
        if (isSettled(frame.state) && !isBehind && !isElsewhere) return;
      }
    } catch (error) {
      if (signal.aborted || !isTemporary(error)) throw error;
      // A first request that is refused for its rate was not accepted, which the visitor has to know at once.
      if (runId === null && error instanceof ApiProblem && error.status === 429) throw error;
    }
    signal.throwIfAborted();
    // One lost connection that is there again at once is no news.
    if (failures > 0) tell(false);
    const wait = waits[Math.min(failures, waits.length - 1)] ?? 0;
    await pause(isElsewhere ? (waits.at(-1) ?? 0) : wait, signal);
    failures += 1;
  }
}

async function* framesOf(response: Response): AsyncGenerator<Frame, void> {
  const reader = response.body?.getReader();
  if (reader === undefined) return;
  const frames: Frame[] = [];
  const parser = createParser({ onEvent: ({ data }) => frames.push(JSON.parse(data) as Frame) });
  const decoder = new TextDecoder();
  try {
    for (;;) {
      // A cancelled reader answers that it is at its end.
      const timer = setTimeout(() => void reader.cancel(), SILENCE_MS);
      const { done, value } = await reader.read().finally(() => clearTimeout(timer));
      if (done) return;
      parser.feed(decoder.decode(value, { stream: true }));
      yield* frames.splice(0);
    }
  } finally {
    // Frees the connection; a browser has only six for each server.
    void reader.cancel().catch(() => undefined);
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener(
      "abort",
      () => {
        clearTimeout(timer);
        reject(signal.reason as Error);
      },
      { once: true },
    );
  });
}
