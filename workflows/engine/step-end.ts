import { condition } from "@temporalio/workflow";

interface StepEnd {
  /** Conditions to check at the end of a step. */
  readonly waiting: Set<() => boolean>;
  /** Undelivered results of local activities, in order of arrival. */
  readonly results: object[];
}

/**
 * The state of this workflow. The workflows of a process share their modules, which are loaded only once (see scripts/build-workflows.mjs),
 * but a global variable belongs to one workflow and ends with it.
 */
function stepEndOfWorkflow(): StepEnd {
  const own = globalThis as { millraceStepEnd?: StepEnd };
  own.millraceStepEnd ??= { waiting: new Set(), results: [] };
  return own.millraceStepEnd;
}

/**
 * Resolves at the end of the first workflow step (Temporal calls it an activation) in which `holds` is true. By then, everything that
 * follows from the step's events has started, so counts of pending work are exact.
 */
export async function whenStepEnds(holds: () => boolean): Promise<void> {
  const { waiting } = stepEndOfWorkflow();
  waiting.add(holds);
  try {
    await atStepEnd(holds);
  } finally {
    waiting.delete(holds);
  }
}

/**
 * Delivers the result of a local activity only after everything that follows from earlier results. In the first execution, results arrive
 * one by one, but on replay several arrive in one step; without this order, their consequences would interleave and commands would be
 * created in another order.
 */
export async function inOrder<T>(activity: Promise<T>): Promise<T> {
  const { waiting, results } = stepEndOfWorkflow();
  try {
    return await activity;
  } finally {
    const result = {};
    results.push(result);
    await atStepEnd(() => results[0] === result && ![...waiting].some((holds) => holds()));
    results.shift();
  }
}

function atStepEnd(holds: () => boolean): Promise<void> {
  // Temporal checks a condition immediately, which may be in the middle of a step, so the first check does not count. Later it checks after
  // each event, when consequences that have yet to run still count as pending, and at the end of each step.
  let asked = false;
  return condition(() => {
    const again = asked;
    asked = true;
    return again && holds();
  });
}
