import { z } from "zod";
import type { QueueStats } from "../../temporal/queues.ts";
import { operationsOf } from "../http/operation.ts";
import { named } from "../http/schemas.ts";

/** One process asks Temporal at most once in this time (ms), however many requests it gets. */
const FRESH_MS = 2000;

const queueSchema = named("TaskQueue", {
  queue: z
    .enum(["runs", "nodes", "ingest", "background", "webhooks", "house"])
    .describe(
      "`runs`: flows; `nodes`: work of nodes; `ingest`: reading documents; `background`: long jobs; `webhooks`: deliveries; `house`: erasures and the deletion of expired data.",
    ),
  type: z.enum(["workflow", "activity"]),
  workers: z.int().min(0).describe("Number of workers that asked for work in the last minutes."),
  backlog: z
    .int()
    .min(0)
    .nullable()
    .describe("Number of tasks that wait for a worker; `null` if Temporal does not report it."),
  backlog_age_seconds: z.number().min(0).nullable().describe("How long the oldest task has been waiting, in seconds."),
});
const queuesSchema = named("TaskQueues", { at: z.iso.datetime(), queues: z.array(queueSchema) });

const define = operationsOf({ tag: "Service", auth: "secret" }, ({ describeQueues }) => ({
  read: sharedFor(FRESH_MS, async () => ({
    at: new Date().toISOString(),
    queues: (await describeQueues()).map(presentQueue),
  })),
}));

/** `/v2/queues`: tasks that wait for workers. */
export const queueOperations = [
  define({
    id: "listQueues",
    route: "GET /v2/queues",
    summary: "List task queues",
    description:
      "Lists the installation's task queues, which all organisations share, with the number of waiting tasks and of workers.",
    role: "admin",
    success: { 200: { description: "The task queues.", schema: queuesSchema } },
    async handler(_request, { read }) {
      return { status: 200, body: await read() };
    },
  }),
];

function presentQueue({ queue, type, pollers, backlog, backlog_age_seconds }: QueueStats): z.infer<typeof queueSchema> {
  return { queue, type, workers: pollers, backlog, backlog_age_seconds };
}

/** Reads once for all callers within `ms`. A failure reaches only the callers that were already waiting for it. */
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
