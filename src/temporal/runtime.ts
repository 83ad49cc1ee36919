import { Runtime } from "@temporalio/worker";
import type { LogLevel, LogMetadata } from "@temporalio/worker";
import type { Logger } from "../platform/logging/logger.ts";
import { runIdOf } from "./ids.ts";

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
  const about = (meta: LogMetadata = {}): object => ({ ...meta, ...runOf(meta) });
  const at = {
    trace: (message: string, meta?: LogMetadata) => log.trace(about(meta), message),
    debug: (message: string, meta?: LogMetadata) => log.debug(about(meta), message),
    // What the SDK says at "info" interests nobody who operates the service.
    info: (message: string, meta?: LogMetadata) => log.debug(about(meta), message),
    warn: (message: string, meta?: LogMetadata) => log[EXPECTED.test(message) ? "debug" : "warn"](about(meta), message),
    error: (message: string, meta?: LogMetadata) => log.error(about(meta), message),
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

/** The run whose workflow a message of the SDK is about. */
function runOf(meta: LogMetadata): { readonly run_id?: string } {
  const execution = meta["workflowExecution"] as { readonly workflowId?: unknown } | undefined;
  const id: unknown = meta["workflowId"] ?? meta["workflow_id"] ?? execution?.workflowId;
  const run_id = typeof id === "string" ? runIdOf(id) : undefined;
  return run_id === undefined ? {} : { run_id };
}
