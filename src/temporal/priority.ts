import type { WorkflowStartOptions } from "@temporalio/client";
import { PRIORITY_KEYS } from "../domain/urgency.ts";
import type { Urgency } from "../domain/urgency.ts";

export type Priority = NonNullable<WorkflowStartOptions["priority"]>;

/**
 * The place of a workflow in every task queue: urgent work goes first, and Temporal is fair between organisations of the same urgency.
 * Its activities and child workflows inherit it, so it is given where a workflow is started and nowhere else.
 */
export function priorityOf(orgId: string, urgency: Urgency): Priority {
  return { priorityKey: PRIORITY_KEYS[urgency], fairnessKey: orgId };
}
