import type { Citation, Frame, PageRun, Pause, RunState, UploadInput, Vote } from "./shapes.ts";

/** A message of the visitor with the answer to it. */
export interface Turn {
  /** Stays the same from the moment the message is sent. */
  readonly key: string;
  /** Null until the server has accepted the message. */
  readonly runId: string | null;
  readonly asked: string;
  readonly outputs: Readonly<Record<string, unknown>>;
  readonly citations: readonly Citation[];
  readonly state: RunState;
  readonly pauses: readonly Pause[];
  readonly error: string | null;
  readonly progress: Frame["progress"];
  readonly vote: Vote | null;
}

export const newTurn = (key: string, asked: string): Turn => ({
  key,
  runId: null,
  asked,
  outputs: {},
  citations: [],
  state: "PENDING",
  pauses: [],
  error: null,
  progress: { completed: 0, total: 0 },
  vote: null,
});

/** A turn with what a frame of its run's stream adds. */
export function withFrame(turn: Turn, frame: Frame): Turn {
  const outputs: Record<string, unknown> = { ...turn.outputs };
  for (const [id, value] of Object.entries(frame.outputs)) {
    const before = outputs[id];
    const isMore = frame.reset !== true && typeof before === "string" && typeof value === "string";
    outputs[id] = isMore ? before + value : value;
  }
  return {
    ...turn,
    runId: frame.run_id,
    outputs,
    citations: frame.citations,
    state: frame.state,
    pauses: frame.pauses,
    error: frame.error?.message ?? null,
    progress: frame.progress,
  };
}

export function turnOf(run: PageRun, input: string | null): Turn {
  const asked = input === null ? "" : run.inputs[input];
  const text = typeof asked === "string" ? asked : asked == null ? "" : JSON.stringify(asked);
  return { ...withFrame(newTurn(run.run_id, text), { ...run, reset: true }), vote: run.feedback };
}

/** Why there is no answer; null unless the run failed. */
export const failureOf = ({ state, error }: Turn): string | null =>
  state === "FAILED" ? (error ?? "Something went wrong. Try again.") : null;

/** The `accept` of a file field. */
export const acceptOf = ({ accept, kind }: UploadInput): string | undefined =>
  accept?.join(",") ?? (kind === "files" ? undefined : `${kind}/*`);
