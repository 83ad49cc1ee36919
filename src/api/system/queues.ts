import { z } from "zod";
import type { QueueStats } from "../../temporal/queues.ts";
import type { ApiDeps } from "../deps.ts";
import { defineOperation } from "../http/operation.ts";
import type { Operation } from "../http/operation.ts";

/** Temporal is asked no more often than this by one process (ms), however many ask. */
const FRESH_MS = 2000;

const queueSchema = z
  .object({
    queue: z
      .enum(["runs", "nodes", "ingest", "background", "webhooks"])
      .describe(
        "`runs`: flows; `nodes`: what nodes do; `ingest`: documents; `background`: long jobs; `webhooks`: deliveries.",
      ),
    type: z.enum(["workflow", "activity"]),
    workers: z.int().min(0).describe("Processes that have asked for work within the last minutes."),
    backlog: z.int().min(0).nullable().describe("Tasks that wait for a worker; null where Temporal does not tell."),
    backlog_age_seconds: z.number().min(0).nullable().describe("How long the oldest of them has waited."),
  })
  .meta({ id: "TaskQueue" });
const queuesSchema = z.object({ at: z.iso.datetime(), queues: z.array(queueSchema) }).meta({ id: "TaskQueues" });

/** `/v2/queues`: what waits for workers. */
export function createQueueOperations({ describeQueues }: ApiDeps): Operation[] {
  const read = sharedFor(FRESH_MS, async () => ({
    at: new Date().toISOString(),
    queues: (await describeQueues()).map(presentQueue),
  }));
  return [
    defineOperation({
      id: "listQueues",
      method: "GET",
      path: "/v2/queues",
      tag: "Service",
      summary: "See what waits for workers",
      description:
        "The task queues of the installation, which its organisations share: what waits in each and how many workers take from it.",
      auth: "secret",
      role: "admin",
      success: { 200: { description: "All queues.", schema: queuesSchema } },
      async handler() {
        return { status: 200, body: await read() };
      },
    }),
  ];
}

function presentQueue({ queue, type, pollers, backlog, backlog_age_seconds }: QueueStats): z.infer<typeof queueSchema> {
  return { queue, type, workers: pollers, backlog, backlog_age_seconds };
}

/** Reads once for all who ask within `ms`. A failure reaches only those who were already waiting for it. */
function sharedFor<T>(ms: number, read: () => Promise<T>): () => Promise<T> {
  let last: { readonly at: number; readonly value: Promise<T> } | undefined;
  return () => {
    const now = performance.now();
    if (last && now - last.at < ms) return last.value;
    const taken = { at: now, value: read() };
    last = taken;
    taken.value.catch(() => {
      if (last === taken) last = undefined;
    });
    return taken.value;
  };
}
