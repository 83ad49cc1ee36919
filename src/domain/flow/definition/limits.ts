/** The limits of a flow. The installation's configuration sets them. */
export interface FlowLimits {
  /** Nodes in total, including nested flows. */
  readonly max_nodes: number;
  /** How deep maps and loops may be nested. */
  readonly max_nesting: number;
  /** The compiled plan, as JSON text (bytes): it travels in the input of the run's workflow. */
  readonly max_plan_bytes: number;
  /** One CEL expression (characters). */
  readonly max_cel_chars: number;
  /** One Liquid template (characters). */
  readonly max_template_chars: number;
  /** The highest `max_iterations` of a loop. */
  readonly max_iterations: number;
  /** The longest `settings.timeout_seconds`. */
  readonly max_timeout_seconds: number;
  /** One input of a run, after decoding (bytes). */
  readonly max_input_bytes: number;
}

/** Levels of child runs. A run below them fails, because its flow most likely calls itself. */
export const MAX_SUBFLOW_DEPTH = 10;

/** The limits of contract section 0; they apply if nothing else is configured. */
export const DEFAULT_FLOW_LIMITS: FlowLimits = {
  max_nodes: 1000,
  max_nesting: 5,
  max_plan_bytes: 1024 * 1024,
  max_cel_chars: 10_000,
  max_template_chars: 200_000,
  max_iterations: 10_000,
  max_timeout_seconds: 2_592_000,
  max_input_bytes: 25 * 1024 * 1024,
};
