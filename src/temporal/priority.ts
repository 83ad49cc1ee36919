import type { WorkflowStartOptions } from "@temporalio/client";
import { PRIORITY_KEYS, type Urgency } from "../domain/urgency.ts";

export type Priority = NonNullable<WorkflowStartOptions["priority"]>;

/**
 * The priority of a workflow in every task queue: urgent work goes first, and Temporal is fair between organisations with the same urgency.
 * Activities and child workflows inherit it, so it is only set where a workflow is started.
 */
export function priorityOf(orgId: string, urgency: Urgency): Priority {
  return { priorityKey: PRIORITY_KEYS[urgency], fairnessKey: orgId };
}
