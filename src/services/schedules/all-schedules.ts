import type { Config } from "../../config.ts";
import { monitorSchedules } from "../evals/monitor-schedules.ts";
import { houseSchedules } from "../house/schedules.ts";
import { syncSchedules } from "../knowledge/schedule.ts";
import { triggerSchedules } from "../triggers/schedules.ts";
import type { ScheduleKind } from "./apply.ts";

/** Every kind of row that has schedules in Temporal. */
export const allSchedules = (
  config: Pick<
    Config,
    | "MILLRACE_TASK_QUEUE"
    | "MILLRACE_MONITOR_INTERVAL_SECONDS"
    | "MILLRACE_MIN_SCHEDULE_SECONDS"
    | "MILLRACE_SWEEP_INTERVAL_MS"
  >,
): readonly ScheduleKind[] => [
  triggerSchedules(config),
  syncSchedules(config),
  monitorSchedules(config),
  houseSchedules(config),
];
