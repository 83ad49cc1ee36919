import { periodically } from "../platform/periodically.ts";
import { versionOf } from "../temporal/deployments.ts";
import { warning, type ServiceProcess } from "./open-process.ts";

/** How often a process asks which build is current (ms). */
const ASK_MS = 2000;

/**
 * Whether the worker in this process may take runs eagerly when they start. Temporal grants an eager start to any build that requests it,
 * even if it is not the current one. So only the current build requests it, and none does while another build gets a part of the runs.
 */
export async function openEagerStarts(process: ServiceProcess): Promise<() => boolean> {
  const { config, temporal, shutdown } = process;
  const version = versionOf(config);
  const { deployment } = temporal;
  if (!version || !deployment) return () => true;
  let eager = false;
  const task = periodically(
    ASK_MS,
    async () => {
      const routing = await deployment.routing().catch((error: unknown) => {
        eager = false;
        throw error;
      });
      eager = routing?.current === version.buildId && routing.ramping === null;
    },
    warning(process, "could not read the current build"),
  );
  task.wake();
  shutdown.add("check of the current build", () => task.close());
  return () => eager;
}
