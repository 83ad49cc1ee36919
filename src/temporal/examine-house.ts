import type { Client } from "@temporalio/client";
import { ROUNDS, type Round } from "../domain/house.ts";
import { describe, ignoreMissing, inTime, statusOf } from "./calls.ts";
import { houseSchedules } from "./ids.ts";

/** The latest rounds of purges of one schedule. */
export interface RoundView {
  readonly round: Round;
  /** The purge in progress and its attempt, from 1; null if there is none. */
  readonly running: { readonly purge: string; readonly attempt: number } | null;
  /** Which purges failed in the latest round that has ended; null if none did. */
  readonly failure: string | null;
}

/** The latest rounds of each schedule. */
export async function examineHouse(client: Client, prefix: string): Promise<RoundView[]> {
  const views: RoundView[] = [];
  for (const round of ROUNDS) {
    let running: RoundView["running"] = null;
    let failure: RoundView["failure"] = null;
    for (const workflowId of await latestOf(client, houseSchedules(prefix) + round)) {
      const described = await describe(client, workflowId);
      if (described === undefined) break;
      const view = statusOf(described.status.name);
      if (view !== "running") {
        if (view === "failed") failure = await failureOf(client, workflowId);
        break;
      }
      const [activity] = described.raw.pendingActivities ?? [];
      if (activity) running = { purge: activity.activityId ?? "", attempt: activity.attempt ?? 1 };
    }
    views.push({ round, running, failure });
  }
  return views;
}

/** The IDs of a schedule's latest workflows, the newest first; only the newest can be running. */
async function latestOf(client: Client, scheduleId: string): Promise<string[]> {
  const schedule = await inTime(client.schedule.getHandle(scheduleId).describe()).catch(ignoreMissing);
  const latest = schedule?.info.recentActions.slice(-2) ?? [];
  return latest.map(({ action }) => action.workflow.workflowId).toReversed();
}

async function failureOf(client: Client, workflowId: string): Promise<string> {
  const error: unknown = await inTime(client.workflow.getHandle(workflowId).result()).catch(
    (reason: unknown) => reason,
  );
  return error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
}
