import { Runtime } from "@temporalio/worker";
import type { LogLevel, LogMetadata } from "@temporalio/worker";
import type { Logger } from "../platform/logger.ts";

/** What the SDK warns of although it is meant so: queues that have activities alone. */
const MEANT = /^No workflows registered/;

/** Sends what the Temporal SDK logs to the service's own log. Call it before anything of the SDK is made; once a process. */
export function installTemporalRuntime(logger: Logger): void {
  const log = logger.child({ component: "temporal" });
  const at = {
    trace: (message: string, meta?: LogMetadata) => log.trace(meta ?? {}, message),
    debug: (message: string, meta?: LogMetadata) => log.debug(meta ?? {}, message),
    // What the SDK says at "info" interests nobody who operates the service.
    info: (message: string, meta?: LogMetadata) => log.debug(meta ?? {}, message),
    warn: (message: string, meta?: LogMetadata) => log[MEANT.test(message) ? "debug" : "warn"](meta ?? {}, message),
    error: (message: string, meta?: LogMetadata) => log.error(meta ?? {}, message),
  };
  Runtime.install({
    // The process's own signal handlers decide when workers stop.
    shutdownSignals: [],
    logger: {
      ...at,
      log: (level: LogLevel, message: string, meta?: LogMetadata) =>
        at[level.toLowerCase() as Lowercase<LogLevel>](message, meta),
    },
  });
}
