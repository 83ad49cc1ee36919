import { Runtime } from "@temporalio/worker";
import type { LogLevel, LogMetadata } from "@temporalio/worker";
import type { Logger } from "../platform/logging/logger.ts";

/**
 * What the SDK warns of although nothing is wrong, or although it is logged elsewhere: failed activities (logged with their
 * run), queues that have activities alone, and what was under way for a run that has been ended meanwhile.
 */
const EXPECTED =
  /^(Activity failed|No workflows registered|Task not found when completing|Activity not found on completion)/;

/**
 * Sends what the Temporal SDK logs, in JavaScript or in its native core, to the service's own log. Call it before anything
 * of the SDK is made; once a process.
 */
export function installTemporalRuntime(logger: Logger): void {
  const log = logger.child({ component: "temporal" });
  const at = {
    trace: (message: string, meta?: LogMetadata) => log.trace(meta ?? {}, message),
    debug: (message: string, meta?: LogMetadata) => log.debug(meta ?? {}, message),
    // What the SDK says at "info" interests nobody who operates the service.
    info: (message: string, meta?: LogMetadata) => log.debug(meta ?? {}, message),
    warn: (message: string, meta?: LogMetadata) =>
      EXPECTED.test(message) ? log.debug(withoutError(meta), message) : log.warn(meta ?? {}, message),
    error: (message: string, meta?: LogMetadata) => log.error(meta ?? {}, message),
  };
  Runtime.install({
    // The process's own signal handlers decide when workers stop.
    shutdownSignals: [],
    // Otherwise the core writes lines of its own, which are not JSON and in which nothing is masked. What it has to say in
    // the last moment is written when the connection, or the last worker, has closed.
    telemetryOptions: { logging: { filter: { core: "WARN", other: "ERROR" }, forward: {} } },
    logger: {
      ...at,
      log: (level: LogLevel, message: string, meta?: LogMetadata) =>
        at[level.toLowerCase() as Lowercase<LogLevel>](message, meta),
    },
  });
}

/** An activity's failure quotes what the activity was given. */
function withoutError(meta: LogMetadata = {}): LogMetadata {
  return { ...meta, error: undefined };
}
