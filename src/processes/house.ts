import { createHouseActivities } from "../../activities/house/index.ts";
import { BLOB_KEYS } from "../services/erasures/erase.ts";
import { createHistoryEraser } from "../temporal/erase-histories.ts";
import { HOUSE_ACTIVITIES } from "../temporal/workers.ts";
import type { ServiceProcess } from "./open-process.ts";
import type { Runs } from "./runs.ts";

/** The activities that erase users and remove expired data. */
export function openHouse({ config, logger, shutdown, temporal }: ServiceProcess, runs: Runs) {
  const deps = {
    ...runs.sweeping,
    logger,
    stopping: shutdown.stopping,
    onFailure: runs.activities.onFailure,
    histories: createHistoryEraser(temporal.client, BLOB_KEYS),
    quietMs: config.MILLRACE_ERASURE_QUIET_MS,
    retention: {
      eventMs: config.MILLRACE_EVENT_RETENTION_MS,
      runDays: config.MILLRACE_RUN_RETENTION_DAYS ?? null,
      auditDays: config.MILLRACE_AUDIT_RETENTION_DAYS ?? null,
      monitorDays: config.MILLRACE_MONITOR_RETENTION_DAYS,
    },
  };
  return { house: createHouseActivities(deps, HOUSE_ACTIVITIES) };
}
