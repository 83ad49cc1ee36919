/** What other parts of the service have to know about a kind. Its spec has the rest (nodes/<kind>.ts). */
export interface KindTraits {
  /** What the inputs of a run give a node: its value, or the source that it reads. */
  readonly given: "value" | "source" | null;
  /** Whether files are uploaded to its nodes. */
  readonly uploads: boolean;
  /** Where the text of its value comes from; outputs stream the text of a model while it grows. */
  readonly text: "model" | "template" | null;
}

const PLAIN = { given: null, uploads: false, text: null } as const;

/** Every node kind. A kind added here does not compile until all its parts exist. */
export const KINDS = {
  input: { given: "value", uploads: false, text: null },
  string: { given: "value", uploads: false, text: null },
  url: { given: "source", uploads: false, text: null },
  files: { given: null, uploads: true, text: null },
  audio: { given: "source", uploads: true, text: null },
  image: { given: "source", uploads: true, text: null },
  output: { given: null, uploads: false, text: "template" },
  template: { given: null, uploads: false, text: "template" },
  set: PLAIN,
  condition: PLAIN,
  guard: PLAIN,
  http: PLAIN,
  code: PLAIN,
  knowledge: PLAIN,
  llm: { given: null, uploads: false, text: "model" },
  router: PLAIN,
  action: PLAIN,
  map: PLAIN,
  loop: PLAIN,
  subflow: PLAIN,
  delay: PLAIN,
  approval: PLAIN,
} as const satisfies Readonly<Record<string, KindTraits>>;

export type NodeKind = keyof typeof KINDS;
export const NODE_KINDS = Object.keys(KINDS) as [NodeKind, ...NodeKind[]];

/** The kinds whose trait has one of these values. */
export type KindWith<Trait extends keyof KindTraits, Value extends KindTraits[Trait]> = {
  [Kind in NodeKind]: (typeof KINDS)[Kind][Trait] extends Value ? Kind : never;
}[NodeKind];

/**
 * Where a node's work happens. `inline`: in the workflow itself (bounded, deterministic). `local`: a local activity
 * (short). `activity`: a regular activity (slow, long or hostile). `workflow`: made of workflow commands (timers,
 * child workflows, nested flows, pauses).
 */
export type Execution = "inline" | "local" | "activity" | "workflow";

export interface RetryPolicy {
  /** Attempts in all; 1 never retries. */
  readonly max_attempts: number;
  readonly initial_interval_ms: number;
  /** Factor by which each wait grows. */
  readonly backoff: number;
  readonly max_interval_ms: number;
}
