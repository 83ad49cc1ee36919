/** Every node kind. A kind added here does not compile until all its parts exist. */
export const NODE_KINDS = [
  "input",
  "string",
  "url",
  "files",
  "audio",
  "image",
  "output",
  "template",
  "set",
  "condition",
  "guard",
  "http",
  "code",
  "knowledge",
  "llm",
  "router",
  "action",
  "map",
  "loop",
  "subflow",
  "delay",
  "approval",
] as const;
export type NodeKind = (typeof NODE_KINDS)[number];

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
