import { randomUUID } from "node:crypto";
import type { Client } from "@temporalio/client";
import { priorityOf } from "./priority.ts";

/**
 * Temporal spreads tasks at random over a few partitions. Each orders its own tasks, and may be served after another. With this many tasks
 * every partition has some of the second key, and more of the first.
 */
const OF_FIRST = 60;
const OF_SECOND = 16;
/** Temporal refuses shorter polls. */
const POLL_MS = 5000;
const MAX_POLLS = 2 * (OF_FIRST + OF_SECOND);

/**
 * Tests whether the server honours fairness keys. It fills a queue that no worker polls with workflows of one key and then some of another.
 * A fair server serves those of the second key between those of the first. Cleans up after itself.
 */
export async function keepsFairness(client: Client, namespace: string): Promise<boolean> {
  const queue = `millrace-doctor-${randomUUID()}`;
  const ids = Array.from({ length: OF_FIRST + OF_SECOND }, (_, at) => `${queue}/${at}`);
  try {
    const start = (key: string) => (workflowId: string) =>
      client.workflow.start("doctor", {
        taskQueue: queue,
        workflowId,
        workflowExecutionTimeout: 60_000,
        priority: priorityOf(key, "later"),
      });
    await Promise.all(ids.slice(0, OF_FIRST).map(start("first")));
    await Promise.all(ids.slice(OF_FIRST).map(start("second")));
    const order: number[] = [];
    for (let polls = 0; order.length < ids.length; polls += 1) {
      if (polls === MAX_POLLS) throw new Error("the queue did not return all tasks");
      const task = await client.connection.withDeadline(Date.now() + POLL_MS, () =>
        client.workflowService.pollWorkflowTaskQueue({ namespace, taskQueue: { name: queue }, identity: queue }),
      );
      const at = ids.indexOf(task.workflowExecution?.workflowId ?? "");
      if (at >= 0) order.push(at);
    }
    // A fair order ends with many workflows of the first key, which has more. The order of arrival ends with the second key.
    const afterSecond = order.length - 1 - order.findLastIndex((at) => at >= OF_FIRST);
    return afterSecond > 4;
  } finally {
    const remove = (workflowId: string) =>
      client.workflowService.deleteWorkflowExecution({ namespace, workflowExecution: { workflowId } });
    await Promise.allSettled(ids.map(remove));
  }
}
