import { condition } from "@temporalio/workflow";

interface AtRest {
  /** What waits for the end of a step. */
  readonly waiting: Set<() => boolean>;
  /** Results of local activities that have not been passed on, in the order in which they came. */
  readonly results: object[];
}

/**
 * What is pending in this workflow. The workflows of a process share their modules, which are loaded once (see
 * scripts/build-workflows.mjs); a global variable is the workflow's own, and goes with it.
 */
function atRestOfWorkflow(): AtRest {
  const own = globalThis as { millraceAtRest?: AtRest };
  own.millraceAtRest ??= { waiting: new Set(), results: [] };
  return own.millraceAtRest;
}

/**
 * Resolves when `holds` is true and nothing is left to do in the current step of the workflow: all that follows from an
 * event has begun by then, so that counts of pending work are exact.
 */
export async function whenAtRest(holds: () => boolean): Promise<void> {
  const { waiting } = atRestOfWorkflow();
  waiting.add(holds);
  try {
    await atRest(holds);
  } finally {
    waiting.delete(holds);
  }
}

/**
 * Passes on the result of a local activity when all that followed from the results before it has been done. The first time
 * these results come one by one, and on replay several in one go: passed on at once, what follows from them would be mixed
 * up on replay, and commands would come in another order.
 */
export async function inOrder<T>(activity: Promise<T>): Promise<T> {
  const { waiting, results } = atRestOfWorkflow();
  try {
    return await activity;
  } finally {
    const result = {};
    results.push(result);
    await atRest(() => results[0] === result && ![...waiting].some((holds) => holds()));
    results.shift();
  }
}

function atRest(holds: () => boolean): Promise<void> {
  // Temporal's own condition asks at once, which may be amid a step. Then it asks after each event, when what follows from that
  // has yet to run and still counts as pending, and at the end of each step.
  let asked = false;
  return condition(() => {
    const again = asked;
    asked = true;
    return again && holds();
  });
}
