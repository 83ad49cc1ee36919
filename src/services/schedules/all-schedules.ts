import type { Config } from "../../config.ts";
import { monitorSchedules } from "../evals/monitor-schedules.ts";
import { houseSchedules } from "../house/schedules.ts";
import { syncSchedules } from "../knowledge/schedule.ts";
import { triggerSchedules } from "../triggers/schedules.ts";
import type { ScheduleKind } from "./apply.ts";

/** Every kind of row that has schedules in Temporal. */
export const allSchedules = (config: Config): readonly ScheduleKind[] => [
  triggerSchedules(config),
  syncSchedules(config),
  monitorSchedules(config),
  houseSchedules(config),
];
