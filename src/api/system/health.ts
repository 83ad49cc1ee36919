import { z } from "zod";
import type { ApiDeps } from "../deps.ts";
import { defineOperation } from "../http/operation.ts";
import type { Operation } from "../http/operation.ts";

/** A part that takes longer does not answer. */
const PATIENCE_MS = 2000;

const healthSchema = z.object({ status: z.literal("ok") }).meta({ id: "Health" });
const part = z.enum(["ok", "unavailable"]);
const readinessSchema = z
  .object({ status: z.enum(["ready", "unavailable"]), postgres: part, temporal: part })
  .meta({ id: "Readiness" });

/** `/healthz`, `/readyz` and `/metrics`. */
export function createHealthOperations({ readiness, metrics, logger }: ApiDeps): Operation[] {
  // Probes add parameters of their own.
  const common = { method: "GET", tag: "Service", auth: "none", looseQuery: true } as const;

  async function ask(name: keyof typeof readiness): Promise<z.infer<typeof part>> {
    try {
      await within(PATIENCE_MS, readiness[name]());
      return "ok";
    } catch (err) {
      logger.warn({ err, part: name }, "not ready");
      return "unavailable";
    }
  }

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
        const [postgres, temporal] = await Promise.all([ask("postgres"), ask("temporal")]);
        const ready = postgres === "ok" && temporal === "ok";
        return { status: ready ? 200 : 503, body: { status: ready ? "ready" : "unavailable", postgres, temporal } };
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

async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
