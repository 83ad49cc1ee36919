import { Runtime, type LogLevel, type LogMetadata } from "@temporalio/worker";
import type { Logger } from "../platform/logging/logger.ts";

/**
 * Warnings of the SDK about normal events or events logged elsewhere: failed activities (logged with their run), queues that only have
 * activities, and late results for a finished run.
 */
const EXPECTED =
  /^(Activity failed|No workflows registered|Task not found when completing|Activity not found on completion)/;

/**
 * Sends the logs of the Temporal SDK, both JavaScript and native core, to Millrace's own log. Call it once per process, before anything of
 * the SDK is created.
 */
export function installTemporalRuntime(logger: Logger): void {
  const log = logger.child({ component: "temporal" });
  const at = {
    trace: (message: string, meta?: LogMetadata) => log.trace(meta ?? {}, message),
    debug: (message: string, meta?: LogMetadata) => log.debug(meta ?? {}, message),
    // The SDK's "info" messages are not relevant to operators.
    info: (message: string, meta?: LogMetadata) => log.debug(meta ?? {}, message),
    warn: (message: string, meta?: LogMetadata) =>
      EXPECTED.test(message) ? log.debug(withoutError(meta), message) : log.warn(meta ?? {}, message),
    error: (message: string, meta?: LogMetadata) => log.error(meta ?? {}, message),
  };
  Runtime.install({
    // The process's own signal handlers decide when workers stop.
    shutdownSignals: [],
    // Otherwise the core writes its own lines, not as JSON and unmasked. It writes its last messages after the connection or the last
    // worker has closed.
    telemetryOptions: { logging: { filter: { core: "WARN", other: "ERROR" }, forward: {} } },
    logger: {
      ...at,
      log: (level: LogLevel, message: string, meta?: LogMetadata) =>
        at[level.toLowerCase() as Lowercase<LogLevel>](message, meta),
    },
  });
}

/** The error of a failed activity may quote the activity's input, so it is not logged. */
function withoutError(meta: LogMetadata = {}): LogMetadata {
  return { ...meta, error: undefined };
}
