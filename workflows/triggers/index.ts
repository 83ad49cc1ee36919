import type { TriggerActivities } from "../../activities/triggers/types.ts";
import { ownActivities } from "../activities.ts";

export { runSchedule } from "./run-schedule.ts";

/** Longer than a single request may take. */
const POLL_TIMEOUT_MS = 150_000;

/** Checks once what a polling trigger watches. */
export async function pollTrigger(input: { readonly org_id: string; readonly id: string }): Promise<void> {
  await ownActivities<TriggerActivities>(POLL_TIMEOUT_MS).pollTrigger(input);
}
