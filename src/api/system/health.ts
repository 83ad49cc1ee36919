import { z } from "zod";
import { Problem, notFound } from "../../domain/errors.ts";
import { carriesToken } from "../../platform/metrics-token.ts";
import { checkReadiness } from "../../platform/readiness.ts";
import { operationsOf } from "../http/operation.ts";
import { named } from "../http/schemas.ts";

const healthSchema = named("Health", { status: z.literal("ok") });
const part = z.enum(["ok", "unavailable"]);
const readinessSchema = named("Readiness", {
  status: z
    .enum(["ready", "degraded", "unavailable"])
    .describe(
      "`ready`: requests are accepted; `degraded`: runs are accepted and start once Temporal is available again; `unavailable`: requests are not accepted.",
    ),
  postgres: part,
  schema: part.describe("Whether the database has the tables, roles and policies this version needs."),
  temporal: part,
  advice: z
    .string()
    .optional()
    .describe("What to do if Postgres responds but cannot be used, or if the process is stopping.")
    .meta({ examples: ["Run `millrace migrate`."] }),
});

const STOPPING = "This process is stopping: send requests to another process.";

const define = operationsOf({ tag: "Service", auth: "none", looseQuery: true });

/** `/healthz`, `/readyz` and `/metrics`. */
export const healthOperations = [
  define({
    id: "getHealth",
    route: "GET /healthz",
    summary: "Check liveness",
    description: "Returns 200 while the process is up. For liveness probes: it does not check Postgres or Temporal.",
    success: { 200: { description: "Process is up.", schema: healthSchema } },
    async handler() {
      return { status: 200, body: { status: "ok" } };
    },
  }),
  define({
    id: "getReadiness",
    route: "GET /readyz",
    summary: "Check readiness",
    description:
      "Returns 200 while requests are accepted. For load balancers. Returns 503 if Postgres does not respond, if its schema does not match this version, or once the process has been asked to stop; it then serves requests for another `MILLRACE_DRAIN_MS`. Without Temporal, requests are still accepted and `status` is `degraded`.",
    success: { 200: { description: "Requests are accepted.", schema: readinessSchema } },
    failures: {
      503: {
        description: "Postgres does not respond or cannot be used, or the process is stopping.",
        schema: readinessSchema,
      },
    },
    async handler(_request, { stopping, readiness, logger }) {
      const {
        ready,
        parts,
        advice = stopping?.aborted ? STOPPING : undefined,
      } = await checkReadiness(readiness, logger);
      // Every part except Temporal is needed to accept a request.
      const accepts =
        !stopping?.aborted && Object.entries(parts).every(([name, state]) => name === "temporal" || state === "ok");
      if (!accepts)
        return {
          status: 503,
          body: { status: "unavailable", ...parts, ...(advice === undefined ? {} : { advice }) },
        };
      return { status: 200, body: { status: ready ? "ready" : "degraded", ...parts } };
    },
  }),
  define({
    id: "getMetrics",
    route: "GET /metrics",
    summary: "Get Prometheus metrics",
    description:
      "Returns metrics in the Prometheus text format. Needs `MILLRACE_METRICS_TOKEN` as bearer credential; returns 404 if none is configured. `MILLRACE_METRICS_PORT` serves them on a separate port.",
    problems: ["not_found", "unauthorized"],
    success: { 200: { description: "The metrics.", content: { "text/plain": null } } },
    async handler({ ctx }, { config, metrics }) {
      const token = config.MILLRACE_METRICS_TOKEN;
      if (token === undefined) throw notFound("resource");
      if (!carriesToken(ctx.headers.authorization, token)) {
        const headers = { "WWW-Authenticate": 'Bearer realm="millrace metrics"' };
        throw new Problem("unauthorized", "Send MILLRACE_METRICS_TOKEN as bearer token.", { headers });
      }
      return { status: 200, type: metrics.contentType, content: await metrics.render() };
    },
  }),
];
