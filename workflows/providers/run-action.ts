import { providerActivities } from "../activities.ts";
import type { ActionRunInput } from "../../src/domain/providers/jobs.ts";

/** Executes a run of an action. Its inputs and result are in its row, and never in a history. */
export async function runAction(input: ActionRunInput): Promise<void> {
  await providerActivities(input.queue, input.timeout_seconds * 1000).runAction(input);
}
