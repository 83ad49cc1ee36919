import { setTimeout as sleep } from "node:timers/promises";
import type { Config } from "../../../config.ts";
import { isConnectionError, type Database } from "../../../stores/db.ts";
import { replayedPosition, writtenPosition } from "../../../stores/system/replication.ts";
import { findUnsupported } from "../../../stores/server.ts";
import { UnsafeSession } from "../../../stores/session.ts";
import { ok, problem, reasonOf, warning, type Finding } from "./finding.ts";
import { adviceOn } from "./postgres.ts";

const PART = "Replica";
const LOOK_EVERY_MS = 50;

/** Whether the read replica is a replica, has the primary's session limits, and keeps up. */
export async function replica(
  { MILLRACE_REPLICA_MAX_LAG_MS: maxLagMs }: Pick<Config, "MILLRACE_REPLICA_MAX_LAG_MS">,
  primary: Database,
  standby: Database,
): Promise<Finding> {
  try {
    const unsupported = await standby.system(findUnsupported);
    if (unsupported !== undefined) return problem(PART, unsupported, "Use a server of a supported version.");
    await standby.verify();
    const written = await primary.system(writtenPosition);
    const began = performance.now();
    for (;;) {
      const replayed = await standby.system(replayedPosition);
      if (replayed === null)
        return problem(PART, "the server is not a replica", "Point DATABASE_REPLICA_URL at a standby of DATABASE_URL.");
      const tookMs = Math.round(performance.now() - began);
      if (replayed >= written) return ok(PART, `at most ${tookMs} ms behind`);
      if (tookMs > maxLagMs)
        return warning(
          PART,
          `more than ${maxLagMs} ms behind: lists are read from the primary`,
          "See pg_stat_replication on the primary, or raise MILLRACE_REPLICA_MAX_LAG_MS.",
        );
      await sleep(LOOK_EVERY_MS);
    }
  } catch (error) {
    if (error instanceof UnsafeSession) return problem(PART, error.reason, error.advice);
    const reason = reasonOf(error as Error);
    // A problem rather than a warning, because an API process does not start with such an error.
    if (!isConnectionError(error)) return problem(PART, reason, adviceOn(error as Error, "DATABASE_REPLICA_URL"));
    return warning(PART, `${reason}: lists are read from the primary`, "Start it, or correct DATABASE_REPLICA_URL.");
  }
}
