import type { Config } from "../../config.ts";
import {
  findMonitorSchedule,
  monitorRevisions,
  monitorSchedules as listMonitorSchedules,
  type MonitorSchedule,
} from "../../stores/evals/monitors.ts";
import { MONITOR_SCHEDULES, monitorScheduleId, taskQueues } from "../../temporal/ids.ts";
import type { Schedule } from "../../temporal/schedules.ts";
import type { ScheduleKind } from "../schedules/apply.ts";

type Settings = Pick<Config, "MILLRACE_TASK_QUEUE" | "MILLRACE_MONITOR_INTERVAL_SECONDS">;

/** Short, because the next scoring also handles what a missed one left. */
const CATCHUP_SECONDS = 10;

/** The schedules of monitors' scoring. */
export function monitorSchedules(config: Settings): ScheduleKind {
  return {
    prefix: MONITOR_SCHEDULES,
    async read(db, id) {
      const row = await findMonitorSchedule(db, id);
      if (row === null) return null;
      return { revision: String(row.revision), schedule: row.deleted_at === null ? scheduleOf(config, row) : null };
    },
    ...monitorRevisions,
    async wanted(db, after, limit) {
      const rows = await listMonitorSchedules(db, after, limit);
      return rows.map((row) => ({ org_id: row.org_id, id: row.monitor_id, schedule: scheduleOf(config, row) }));
    },
  };
}

function scheduleOf(config: Settings, { org_id, monitor_id, enabled }: MonitorSchedule): Schedule {
  const every_seconds = config.MILLRACE_MONITOR_INTERVAL_SECONDS;
  return {
    id: monitorScheduleId(monitor_id),
    paused: !enabled,
    org_id,
    urgency: "batch",
    at: { every_seconds },
    overlap: "skip",
    catchup_window_seconds: CATCHUP_SECONDS,
    // Jitter keeps all monitors from running in the same second.
    jitter_seconds: Math.floor(every_seconds / 4),
    workflow: {
      type: "watchMonitor",
      input: { org_id, monitor_id },
      queue: taskQueues(config.MILLRACE_TASK_QUEUE).background,
    },
  };
}
