import { createHealthServer, type HealthServerDeps } from "../platform/health-server.ts";
import { listen } from "./listen.ts";
import type { ServiceProcess } from "./open-process.ts";

/** Serves the metrics and the readiness of this process on a separate port, if one is configured. */
export async function openHealth(
  { config, metrics, logger, shutdown }: ServiceProcess,
  setting: "MILLRACE_METRICS_PORT" | "MILLRACE_WORKER_PORT",
  readiness: HealthServerDeps["readiness"],
): Promise<void> {
  const port = config[setting];
  if (port === undefined) return;
  const server = createHealthServer({
    metrics,
    metricsToken: config.MILLRACE_METRICS_TOKEN,
    readiness,
    stopping: shutdown.stopping,
    logger,
  });
  const metrics_port = await listen(server, { host: config.HOST, port, setting });
  shutdown.add("metrics", () => void server.close());
  logger.info({ metrics_port }, "metrics ready");
}
