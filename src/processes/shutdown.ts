import type { Logger } from "../platform/logging/logger.ts";

/** Undoes, in reverse order, what a process has set up. Logs a step that fails, and goes on with the others. */
export interface Shutdown {
  /** Registers the function that undoes a step which has just been taken. */
  add(name: string, undo: () => Promise<void> | void): void;
  /** Undoes everything, once. */
  run(reason: string): Promise<void>;
}

/**
 * Ends the process in order: SIGTERM or SIGINT undoes everything that is registered. A second signal ends the process at once,
 * as does the end of `forceAfterMs`. An error that nobody caught ends it too: its state is unknown, and its supervisor starts another.
 */
export function createShutdown(logger: Logger, forceAfterMs: number): Shutdown {
  const steps: Array<{ name: string; undo: () => Promise<void> | void }> = [];
  let running: Promise<void> | undefined;

  async function undoAll(reason: string): Promise<void> {
    logger.info({ reason }, "stopping");
    const force = setTimeout(() => {
      logger.error("stopping took too long");
      process.exit(1);
    }, forceAfterMs);
    force.unref();
    for (const { name, undo } of steps.toReversed()) {
      try {
        await undo();
      } catch (err) {
        logger.error({ err, step: name }, "a step of stopping failed");
      }
    }
    clearTimeout(force);
  }

  const shutdown: Shutdown = {
    add: (name, undo) => void steps.push({ name, undo }),
    run: (reason) => (running ??= undoAll(reason)),
  };
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.on(signal, () => {
      if (running) process.exit(1);
      void shutdown.run(signal).then(() => process.exit(0));
    });
  }
  for (const event of ["uncaughtException", "unhandledRejection"] as const) {
    process.on(event, (err: unknown) => {
      logger.fatal({ err }, event);
      void shutdown.run(event).then(() => process.exit(1));
    });
  }
  return shutdown;
}
