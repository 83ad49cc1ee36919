import type { Config } from "../../config.ts";
import { shortestInterval, timeZoneOf } from "../../domain/cron.ts";
import {
  findAnyTrigger,
  scheduledTriggers,
  triggerRevisions,
  type TriggerRow,
} from "../../stores/triggers/triggers.ts";
import { TRIGGER_SCHEDULES, taskQueues, triggerScheduleId } from "../../temporal/ids.ts";
import type { Schedule } from "../../temporal/schedules.ts";
import type { ScheduleKind } from "../schedules/apply.ts";

/** Short, because a missed poll need not be caught up: only the current state counts. */
const POLL_CATCHUP_SECONDS = 60;

type ScheduleSettings = Pick<Config, "MILLRACE_TASK_QUEUE" | "MILLRACE_MIN_SCHEDULE_SECONDS">;

/** The schedules of triggers that have one. */
export function triggerSchedules(config: ScheduleSettings): ScheduleKind {
  return {
    prefix: TRIGGER_SCHEDULES,
    async read(db, id) {
      const trigger = await findAnyTrigger(db, id);
      if (trigger === null) return null;
      const schedule = trigger.deleted_at === null ? scheduleOf(config, trigger) : null;
      return { revision: String(trigger.revision), schedule };
    },
    ...triggerRevisions,
    async wanted(db, after, limit) {
      const rows = await scheduledTriggers(db, after, limit);
      return rows.map((row) => ({ org_id: row.org_id, id: row.id, schedule: scheduleOf(config, row) }));
    },
  };
}

/**
 * The schedule of a trigger. A trigger that was created under a shorter minimum interval fires at the current minimum
 * interval instead.
 */
function scheduleOf(settings: ScheduleSettings, trigger: TriggerRow): Schedule {
  const { MILLRACE_TASK_QUEUE, MILLRACE_MIN_SCHEDULE_SECONDS: min } = settings;
  const { org_id, id } = trigger;
  const queues = taskQueues(MILLRACE_TASK_QUEUE);
  const common = { id: triggerScheduleId(id), paused: !trigger.enabled, org_id, urgency: "later" as const };
  if (trigger.kind === "poll") {
    return {
      ...common,
      at: { every_seconds: trigger.config.every_minutes * 60 },
      overlap: "skip",
      catchup_window_seconds: POLL_CATCHUP_SECONDS,
      jitter_seconds: 0,
      workflow: { type: "pollTrigger", input: { org_id, id }, queue: queues.background },
    };
  }
  if (trigger.kind !== "schedule") throw new Error(`Triggers of kind ${trigger.kind} have no schedule`);
  const { cron, time_zone, overlap, catchup_window_seconds, jitter_seconds } = trigger.config;
  return {
    ...common,
    at: shortestInterval(cron) < min ? { every_seconds: min } : { cron, time_zone: timeZoneOf(time_zone) ?? time_zone },
    overlap,
    catchup_window_seconds,
    jitter_seconds,
    workflow: { type: "runSchedule", input: { org_id, id, node_queue: queues.nodes }, queue: queues.runs },
  };
}
