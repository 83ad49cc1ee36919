import type { AddressInfo } from "node:net";
import { createHealthServer } from "../platform/health-server.ts";
import type { HealthServerDeps } from "../platform/health-server.ts";
import type { ServiceProcess } from "./open-process.ts";

/** Serves the metrics and the readiness of this process on a port of their own, where one is configured. */
export async function openHealth(
  { config, metrics, logger, shutdown }: ServiceProcess,
  port: number | undefined,
  readiness: HealthServerDeps["readiness"],
): Promise<void> {
  if (port === undefined) return;
  const server = createHealthServer({ metrics, metricsToken: config.MILLRACE_METRICS_TOKEN, readiness, logger });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, config.HOST, resolve);
  });
  shutdown.add("metrics", () => void server.close());
  logger.info({ metrics_port: (server.address() as AddressInfo).port }, "metrics ready");
}
