import { MAX_VALUE_BYTES } from "../src/domain/json.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

/** For requests of nodes and actions, which their own timeout ends through the signal. */
export const UNTIL_STOPPED = { headersMs: DAY_MS, bodyMs: DAY_MS, totalMs: DAY_MS };

/** The same limits for a response that becomes a value. */
export const FOR_A_VALUE = { ...UNTIL_STOPPED, responseBytes: MAX_VALUE_BYTES };
