import { createServer } from "node:http";
import type { Server } from "node:http";
import type { Logger } from "./logging/logger.ts";
import type { Metrics } from "./metrics.ts";
import { checkReadiness } from "./readiness.ts";
import type { ReadinessParts } from "./readiness.ts";

/** `/healthz`, `/readyz` and `/metrics` of a process that serves nothing else. */
export function createHealthServer(metrics: Metrics, readiness: ReadinessParts, logger: Logger): Server {
  return createServer((request, response) => {
    // Probes may add query parameters.
    const [path] = (request.url ?? "").split("?", 1);
    const answer = async (): Promise<void> => {
      switch (path) {
        case "/healthz":
          response.end("ok\n");
          return;
        case "/readyz": {
          const { ready, parts } = await checkReadiness(readiness, logger);
          response.writeHead(ready ? 200 : 503, { "content-type": "application/json" });
          response.end(JSON.stringify({ status: ready ? "ready" : "unavailable", ...parts }));
          return;
        }
        case "/metrics":
          response.setHeader("content-type", metrics.contentType).end(await metrics.render());
          return;
        default:
          response.writeHead(404).end();
      }
    };
    answer().catch((err: unknown) => {
      logger.error({ err, path }, "request failed");
      response.writeHead(500).end();
    });
  });
}
