import type { Config } from "../../config.ts";
import { temporalCron } from "../../domain/triggers/cron.ts";
import type { HttpChangedConfig, ScheduleConfig } from "../../domain/triggers/trigger.ts";
import type { Database } from "../../stores/db.ts";
import { lockAnyTrigger, markApplied } from "../../stores/triggers/triggers.ts";
import type { TriggerRow } from "../../stores/triggers/triggers.ts";
import { taskQueues, triggerScheduleId } from "../../temporal/ids.ts";
import type { Schedule, Schedules } from "../../temporal/schedules.ts";

export interface ApplyDeps {
  readonly config: Pick<Config, "MILLRACE_TASK_QUEUE">;
  readonly db: Database;
  readonly schedules: Schedules;
}

/** A poll that was missed is not made up for: what counts is how things are now. */
const POLL_CATCHUP_SECONDS = 60;

/**
 * Makes Temporal's schedule of a trigger what the trigger is: the row counts, and the schedule follows. The row is locked
 * meanwhile, so that of two changes the later one is what remains.
 */
export async function applySchedule(
  { config, db, schedules }: ApplyDeps,
  { org_id, id }: Pick<TriggerRow, "org_id" | "id">,
): Promise<void> {
  await db.orgTransaction(org_id, async (connection) => {
    const trigger = await lockAnyTrigger(connection, id);
    if (trigger === null) return;
    if (trigger.deleted_at !== null) await schedules.remove(triggerScheduleId(id));
    else await schedules.put(scheduleOf(config, trigger));
    await markApplied(connection, id, trigger.revision);
  });
}

function scheduleOf({ MILLRACE_TASK_QUEUE }: ApplyDeps["config"], trigger: TriggerRow): Schedule {
  const { org_id, id, kind, config } = trigger;
  const queues = taskQueues(MILLRACE_TASK_QUEUE);
  const common = { id: triggerScheduleId(id), paused: !trigger.enabled };
  if (kind === "poll") {
    const { every_minutes } = config as unknown as HttpChangedConfig;
    return {
      ...common,
      at: { every_seconds: every_minutes * 60 },
      overlap: "skip",
      catchup_window_seconds: POLL_CATCHUP_SECONDS,
      jitter_seconds: 0,
      workflow: { type: "pollTrigger", input: { org_id, id }, queue: queues.background },
    };
  }
  const { cron, time_zone, overlap, catchup_window_seconds, jitter_seconds } = config as unknown as ScheduleConfig;
  return {
    ...common,
    at: { cron: temporalCron(cron), time_zone },
    overlap,
    catchup_window_seconds,
    jitter_seconds,
    workflow: { type: "runSchedule", input: { org_id, id, node_queue: queues.nodes }, queue: queues.runs },
  };
}
