import { z } from "zod";
import { Problem, notFound } from "../../domain/errors.ts";
import { carriesToken } from "../../platform/metrics-token.ts";
import { checkReadiness } from "../../platform/readiness.ts";
import type { ApiDeps } from "../deps.ts";
import { defineOperation } from "../http/operation.ts";
import type { Operation } from "../http/operation.ts";

const healthSchema = z.object({ status: z.literal("ok") }).meta({ id: "Health" });
const part = z.enum(["ok", "unavailable"]);
const readinessSchema = z
  .object({
    status: z
      .enum(["ready", "degraded", "unavailable"])
      .describe("`degraded`: runs are accepted, and start once Temporal is back."),
    postgres: part,
    schema: part.describe("Whether the database has the tables, roles and policies that this version needs."),
    temporal: part,
    advice: z
      .string()
      .optional()
      .describe("What to do if Postgres answers but cannot be used.")
      .meta({ examples: ["Run `millrace migrate`."] }),
  })
  .meta({ id: "Readiness" });

/** `/healthz`, `/readyz` and `/metrics`. */
export function createHealthOperations({ config, readiness, metrics, logger }: ApiDeps): Operation[] {
  // Probes add parameters of their own.
  const common = { method: "GET", tag: "Service", auth: "none", looseQuery: true } as const;

  return [
    defineOperation({
      ...common,
      id: "getHealth",
      path: "/healthz",
      summary: "Whether the process is up",
      description: "For liveness probes: it asks neither Postgres nor Temporal.",
      success: { 200: { description: "It is.", schema: healthSchema } },
      async handler() {
        return { status: 200, body: { status: "ok" } };
      },
    }),
    defineOperation({
      ...common,
      id: "getReadiness",
      path: "/readyz",
      summary: "Whether requests are accepted",
      description:
        "For load balancers: 503 while Postgres does not answer, or its schema is not what this version needs. Without Temporal requests are accepted all the same, and the status is `degraded`.",
      success: { 200: { description: "They are.", schema: readinessSchema } },
      failures: { 503: { description: "Postgres does not answer, or cannot be used.", schema: readinessSchema } },
      async handler() {
        const { ready, parts, advice } = await checkReadiness(readiness, logger);
        // Every part but Temporal is needed to accept a request.
        const accepts = Object.entries(parts).every(([name, state]) => name === "temporal" || state === "ok");
        if (!accepts)
          return {
            status: 503,
            body: { status: "unavailable", ...parts, ...(advice === undefined ? {} : { advice }) },
          };
        return { status: 200, body: { status: ready ? "ready" : "degraded", ...parts } };
      },
    }),
    defineOperation({
      ...common,
      id: "getMetrics",
      path: "/metrics",
      summary: "Measurements, for Prometheus",
      description:
        "With `MILLRACE_METRICS_TOKEN` as bearer credential; 404 where none is configured. `MILLRACE_METRICS_PORT` serves them apart.",
      problems: ["not_found", "unauthorized"],
      success: { 200: { description: "The exposition text.", content: { "text/plain": null } } },
      async handler({ ctx }) {
        const token = config.MILLRACE_METRICS_TOKEN;
        if (token === undefined) throw notFound("resource");
        if (!carriesToken(ctx.headers.authorization, token)) {
          const headers = { "WWW-Authenticate": 'Bearer realm="millrace metrics"' };
          throw new Problem("unauthorized", "Send the token of the metrics as bearer credential.", { headers });
        }
        return { status: 200, type: metrics.contentType, content: await metrics.render() };
      },
    }),
  ];
}
