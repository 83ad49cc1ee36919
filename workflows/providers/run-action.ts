import { providerActivities } from "../activities.ts";
import type { ActionRunInput } from "../../src/domain/providers/jobs.ts";

/** Carries out a run of an action. Its inputs and what came of it are in its row: nothing of them is in a history. */
export async function runAction(input: ActionRunInput): Promise<void> {
  await providerActivities(input.queue, input.timeout_seconds * 1000).runAction(input);
}
