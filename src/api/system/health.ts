import { z } from "zod";
import { checkReadiness } from "../../platform/readiness.ts";
import type { ApiDeps } from "../deps.ts";
import { defineOperation } from "../http/operation.ts";
import type { Operation } from "../http/operation.ts";

const healthSchema = z.object({ status: z.literal("ok") }).meta({ id: "Health" });
const part = z.enum(["ok", "unavailable"]);
const readinessSchema = z
  .object({ status: z.enum(["ready", "unavailable"]), postgres: part, temporal: part })
  .meta({ id: "Readiness" });

/** `/healthz`, `/readyz` and `/metrics`. */
export function createHealthOperations({ readiness, metrics, logger }: ApiDeps): Operation[] {
  // Probes add parameters of their own.
  const common = { method: "GET", tag: "Service", auth: "none", looseQuery: true } as const;

  return [
    defineOperation({
      ...common,
      id: "getHealth",
      path: "/healthz",
      summary: "Whether the process is up",
      success: { 200: { description: "It is.", schema: healthSchema } },
      async handler() {
        return { status: 200, body: { status: "ok" } };
      },
    }),
    defineOperation({
      ...common,
      id: "getReadiness",
      path: "/readyz",
      summary: "Whether Postgres and Temporal answer",
      success: { 200: { description: "Both do.", schema: readinessSchema } },
      failures: { 503: { description: "One does not.", schema: readinessSchema } },
      async handler() {
        const { ready, parts } = await checkReadiness(readiness, logger);
        return { status: ready ? 200 : 503, body: { status: ready ? "ready" : "unavailable", ...parts } };
      },
    }),
    defineOperation({
      ...common,
      id: "getMetrics",
      path: "/metrics",
      summary: "Measurements, for Prometheus",
      success: { 200: { description: "The exposition text.", content: { "text/plain": null } } },
      async handler() {
        return { status: 200, type: metrics.contentType, content: await metrics.render() };
      },
    }),
  ];
}
