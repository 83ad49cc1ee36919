import { providerActivities } from "../activities.ts";
import type { ActionRunInput } from "../../src/domain/providers/jobs.ts";

/** Executes an action run. Its inputs and result are only in its row, never in a workflow history. */
export async function runAction(input: ActionRunInput): Promise<void> {
  await providerActivities(input.queue, input.timeout_seconds * 1000).runAction(input);
}
