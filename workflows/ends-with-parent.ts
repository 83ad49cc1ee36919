import {
  CancellationScope,
  ChildWorkflowCancellationType,
  executeChild,
  getExternalWorkflowHandle,
  ParentClosePolicy,
  patched,
  sleep,
  type ChildWorkflowOptions,
  type Workflow,
  type WorkflowResultType,
} from "@temporalio/workflow";
import type { WithWorkflowArgs } from "@temporalio/common";

/** The version marker of workflows that repeat a child's cancellation. */
const CHILDREN_ASKED_AGAIN = "children-asked-again";
/** A Temporal timer takes at least a second (ms). */
const ASK_AGAIN_MS = 1000;

type EndingOptions<T extends Workflow> = WithWorkflowArgs<T, ChildWorkflowOptions> & { readonly workflowId: string };

/**
 * Runs a child workflow that is cancelled with the current scope, and waits for its end. Temporal drops the cancellation of a child that it
 * has not started yet (RequestCancelExternalWorkflowExecutionFailed), so the cancellation is repeated until it reaches the child or the
 * child has ended.
 */
export function executeEndingChild<T extends Workflow>(
  workflowType: string,
  options: EndingOptions<T>,
): Promise<WorkflowResultType<T>> {
  const scope = CancellationScope.current();
  const child = executeChild<T>(workflowType, {
    ...options,
    parentClosePolicy: ParentClosePolicy.REQUEST_CANCEL,
    cancellationType: ChildWorkflowCancellationType.WAIT_CANCELLATION_COMPLETED,
  });
  if (scope.consideredCancelled) return child;
  const { workflowId } = options;
  let hasEnded = false;
  const ended = (): void => {
    hasEnded = true;
    asking().unreached.delete(workflowId);
  };
  child.then(ended, ended);
  scope.cancelRequested.catch(() => {
    if (!hasEnded && asksAgain()) askUntilReached(workflowId);
  });
  // Returns the same promise: a further one would change the order in which workflows of earlier code continue.
  return child;
}

/** Whether this workflow repeats cancellations that a child has missed. */
export function asksAgain(): boolean {
  return patched(CHILDREN_ASKED_AGAIN);
}

interface Asking {
  /** Unfinished children of cancelled scopes that the cancellation may not have reached. */
  readonly unreached: Set<string>;
  busy: boolean;
}

/** The state of this workflow; see engine/step-end.ts for why it is global. */
function asking(): Asking {
  const own = globalThis as { millraceAsking?: Asking };
  own.millraceAsking ??= { unreached: new Set(), busy: false };
  return own.millraceAsking;
}

function askUntilReached(workflowId: string): void {
  const state = asking();
  state.unreached.add(workflowId);
  if (state.busy) return;
  state.busy = true;
  void CancellationScope.nonCancellable(() => askAll(state));
}

async function askAll(state: Asking): Promise<void> {
  const { unreached } = state;
  while (unreached.size > 0) {
    await sleep(ASK_AGAIN_MS);
    await Promise.all(
      [...unreached].map((id) =>
        getExternalWorkflowHandle(id)
          .cancel()
          .then(
            () => unreached.delete(id),
            () => false,
          ),
      ),
    );
  }
  state.busy = false;
}
