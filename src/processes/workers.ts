import type { RunningWorkers } from "../temporal/workers.ts";
import { runWorkers } from "../temporal/workers.ts";
import type { ServiceProcess } from "./open-process.ts";

/** Starts to poll. The process ends when one of its workers dies. */
export function startWorkers(
  { logger, shutdown }: ServiceProcess,
  workers: Parameters<typeof runWorkers>[0],
): RunningWorkers {
  const running = runWorkers(workers);
  shutdown.add("workers", () => running.stop());
  running.done.catch((err: unknown) => {
    logger.fatal({ err }, "a worker has died");
    void shutdown.run("worker died").then(() => process.exit(1));
  });
  return running;
}
