/** Levels of child runs. A run below them fails, because its flow most likely calls itself. */
export const MAX_SUBFLOW_DEPTH = 10;

/** The limits of contract section 0; they apply if nothing else is configured. */
export const DEFAULT_FLOW_LIMITS = {
  /** Nodes in total, including nested flows. */
  max_nodes: 1000,
  /** How deep maps and loops may be nested. */
  max_nesting: 5,
  /** The compiled plan, as JSON text (bytes): it travels in the input of the run's workflow. */
  max_plan_bytes: 1024 * 1024,
  /** One CEL expression (characters). */
  max_cel_chars: 10_000,
  /** One Liquid template (characters). */
  max_template_chars: 200_000,
  /** The highest `max_iterations` of a loop. */
  max_iterations: 10_000,
  /** The longest `settings.timeout_seconds`. */
  max_timeout_seconds: 2_592_000,
  /** One input of a run, after decoding (bytes). */
  max_input_bytes: 25 * 1024 * 1024,
};

/** The limits of a flow. The installation's configuration sets them. */
export type FlowLimits = Readonly<typeof DEFAULT_FLOW_LIMITS>;
