import type { Logger } from "../platform/logging/logger.ts";

/** Undoes, in reverse order, what a process has set up. Logs a step that fails, and continues with the others. */
export interface Shutdown {
  /** Aborts as soon as the process begins to stop: it is not ready from then on. */
  readonly stopping: AbortSignal;
  /** Registers the function that undoes a step that was just taken. */
  add(name: string, undo: () => Promise<void> | void): void;
  /** Registers a function that runs before any step is undone, so that no new work arrives meanwhile. */
  first(name: string, act: (asked: boolean) => Promise<void> | void): void;
  /** Undoes everything, once. `asked` means that a signal asked for it, so that there is time for a handover. */
  run(reason: string, asked?: boolean): Promise<void>;
}

interface Step {
  readonly name: string;
  readonly undo: (asked: boolean) => Promise<void> | void;
}

/**
 * Ends the process in order: SIGTERM or SIGINT undoes everything that is registered. A second signal ends the process immediately, as does
 * the end of `forceAfterMs`. An uncaught error ends it too, because its state is unknown; its supervisor starts a new process.
 */
export function createShutdown(logger: Logger, forceAfterMs: number): Shutdown {
  const firsts: Step[] = [];
  const steps: Step[] = [];
  const stopping = new AbortController();
  let running: Promise<void> | undefined;

  async function undoAll(reason: string, asked: boolean): Promise<void> {
    logger.info({ reason }, "stopping");
    stopping.abort();
    const force = setTimeout(() => {
      logger.error("the shutdown took too long");
      process.exit(1);
    }, forceAfterMs);
    force.unref();
    for (const { name, undo } of [...firsts.toReversed(), ...steps.toReversed()]) {
      try {
        await undo(asked);
      } catch (err) {
        logger.error({ err, step: name }, "a shutdown step failed");
      }
    }
    clearTimeout(force);
  }

  const shutdown: Shutdown = {
    stopping: stopping.signal,
    add: (name, undo) => void steps.push({ name, undo }),
    first: (name, act) => void firsts.push({ name, undo: act }),
    run: (reason, asked = false) => (running ??= undoAll(reason, asked)),
  };
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.on(signal, () => {
      if (running) process.exit(1);
      void shutdown.run(signal, true).then(() => process.exit(0));
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
