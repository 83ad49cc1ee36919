/** What other modules need to know about a node type. The rest is in its spec (nodes/<type>.ts). */
export interface KindTraits {
  /** What a run's inputs provide for a node: its value, or the source that the node reads. */
  readonly given: "value" | "source" | null;
  /** Whether nodes of this type receive uploaded files. */
  readonly uploads: boolean;
  /** What writes the text of the value; outputs stream a model's text while it grows. */
  readonly text: "model" | "template" | null;
  /** Whether the node numbers the chunks it receives, so that its answer can cite them. */
  readonly cites: boolean;
  /** What a time-out most likely means: a slow service, for which a retry may help, or slow code of the flow itself. */
  readonly slow: "service" | "flow";
}

const PLAIN = { given: null, uploads: false, text: null, cites: false, slow: "service" } as const;

/** Every node type. A type added here does not compile until all its parts exist. */
export const KINDS = {
  input: { ...PLAIN, given: "value" },
  string: { ...PLAIN, given: "value" },
  url: { ...PLAIN, given: "source" },
  files: { ...PLAIN, uploads: true },
  audio: { ...PLAIN, given: "source", uploads: true },
  image: { ...PLAIN, given: "source", uploads: true },
  output: { ...PLAIN, text: "template" },
  template: { ...PLAIN, text: "template" },
  set: PLAIN,
  condition: PLAIN,
  guard: PLAIN,
  http: PLAIN,
  code: { ...PLAIN, slow: "flow" },
  knowledge: PLAIN,
  llm: { ...PLAIN, text: "model", cites: true },
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

/** The node types whose trait has one of these values. */
export type KindWith<Trait extends keyof KindTraits, Value extends KindTraits[Trait]> = {
  [Kind in NodeKind]: (typeof KINDS)[Kind][Trait] extends Value ? Kind : never;
}[NodeKind];

/**
 * Where a node's work happens. `inline`: in the workflow itself (bounded, deterministic). `local`: a local activity (short). `activity`: a
 * regular activity (slow, long or untrusted). `workflow`: workflow commands (timers, child workflows, nested flows, pauses).
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
