import { condition } from "@temporalio/workflow";

/**
 * Resolves when `holds` is true and nothing is left to do in the current step of the workflow: all that follows from an
 * event has begun by then, so that counts of pending work are exact.
 */
export function whenAtRest(holds: () => boolean): Promise<void> {
  // Temporal's own condition asks at once, which may be amid a step, and from then on at the end of each step.
  let asked = false;
  return condition(() => {
    const atRest = asked;
    asked = true;
    return atRest && holds();
  });
}
