/** What happened after a trigger fired: its run will be started, has been started, or could not be started. */
export const FIRING_STATES = ["pending", "started", "failed"] as const;
export type FiringState = (typeof FIRING_STATES)[number];

/** A longer payload (characters of JSON) is deleted once the run has started, because the run has the inputs that were made from it. */
export const KEPT_PAYLOAD_CHARS = 64 * 1024;
