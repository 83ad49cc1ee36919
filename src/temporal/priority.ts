import type { WorkflowStartOptions } from "@temporalio/client";

export type Priority = NonNullable<WorkflowStartOptions["priority"]>;

/** Who is held up by a workflow: somebody who waits for its end, somebody who will look for it later, or a long job. */
export type Urgency = "awaited" | "later" | "batch";

const KEYS = { awaited: 1, later: 3, batch: 5 } as const satisfies Record<Urgency, number>;

/**
 * The place of a workflow in every task queue: urgent work goes first, and Temporal is fair between organisations of the same urgency.
 * Its activities and child workflows inherit it, so it is given where a workflow is started and nowhere else.
 */
export function priorityOf(orgId: string, urgency: Urgency): Priority {
  return { priorityKey: KEYS[urgency], fairnessKey: orgId };
}
