import { ChildWorkflowCancellationType, ParentClosePolicy } from "@temporalio/workflow";

/** Options of a child that is cancelled with its parent, which waits for its end. */
export const ENDS_WITH_PARENT = {
  parentClosePolicy: ParentClosePolicy.REQUEST_CANCEL,
  cancellationType: ChildWorkflowCancellationType.WAIT_CANCELLATION_COMPLETED,
} as const;
