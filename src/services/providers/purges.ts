import { purgeActionRuns } from "../../stores/providers/action-runs.ts";
import { purgeOf } from "../house/purge.ts";

/** Longer than any run may take, because a kept action run prevents a second call of the same action (ms). */
const RETENTION_MS = 31 * 24 * 3_600_000;

export const providerPurges = [purgeOf("action runs", (db, batch) => purgeActionRuns(db, RETENTION_MS, batch))];
