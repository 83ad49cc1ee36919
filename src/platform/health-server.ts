import { createServer, type Server } from "node:http";
import type { Logger } from "./logging/logger.ts";
import type { Metrics } from "./metrics.ts";
import { carriesToken } from "./metrics-token.ts";
import { checkReadiness, type ReadinessParts } from "./readiness.ts";

export interface HealthServerDeps {
  readonly metrics: Metrics;
  /** The token that `/metrics` requires; undefined requires none. */
  readonly metricsToken: string | undefined;
  readonly readiness: ReadinessParts;
  /** Aborts when the process begins to stop; it is not ready from then on. */
  readonly stopping: AbortSignal;
  readonly logger: Logger;
}

/** `/healthz`, `/readyz` and `/metrics` on a port that serves nothing else. */
export function createHealthServer({ metrics, metricsToken, readiness, stopping, logger }: HealthServerDeps): Server {
  return createServer((request, response) => {
    // Probes may add query parameters.
    const [path] = (request.url ?? "").split("?", 1);
    const answer = async (): Promise<void> => {
      switch (path) {
        case "/healthz":
          response.end("ok\n");
          return;
        case "/readyz": {
          const { ready: answers, parts, advice } = await checkReadiness(readiness, logger);
          const ready = answers && !stopping.aborted;
          response.writeHead(ready ? 200 : 503, { "content-type": "application/json" });
          response.end(JSON.stringify({ status: ready ? "ready" : "unavailable", ...parts, advice }));
          return;
        }
        case "/metrics":
          if (metricsToken !== undefined && !carriesToken(request.headers.authorization, metricsToken)) {
            response.writeHead(401, { "www-authenticate": 'Bearer realm="millrace metrics"' }).end();
            return;
          }
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
