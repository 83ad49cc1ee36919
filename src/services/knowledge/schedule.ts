import type { Config } from "../../config.ts";
import {
  findSchedule,
  listUnappliedSchedules,
  listWantedSchedules,
  markScheduleApplied,
  markScheduleRefused,
  type KnowledgeBaseRow,
} from "../../stores/knowledge/knowledge-bases.ts";
import { SYNC_SCHEDULES, scheduledSyncWorkflowId, syncScheduleId, taskQueues } from "../../temporal/ids.ts";
import type { Schedule } from "../../temporal/schedules.ts";
import type { ScheduleKind } from "../schedules/apply.ts";
import { outlookOfSchedule, type Outlook, type OutlookDeps } from "../schedules/outlook.ts";

type Settings = Pick<Config, "MILLRACE_TASK_QUEUE">;

/** Temporal starts a sync that it missed while it was down if that was at most this long ago. */
const CATCH_UP_SECONDS = 3600;
const TIME_ZONE = "UTC";

/** The schedules of syncs of knowledge bases. The revision is the cron expression, or empty if there is none. */
export function syncSchedules(config: Settings): ScheduleKind {
  return {
    prefix: SYNC_SCHEDULES,
    async read(db, id) {
      const row = await findSchedule(db, id);
      if (row === null) return null;
      const schedule = row.wanted === null ? null : scheduleOf(config, row.org_id, id, row.wanted);
      return { revision: row.wanted ?? "", schedule };
    },
    async isApplied(db, id) {
      const row = await findSchedule(db, id);
      return row?.wanted === row?.applied;
    },
    applied: (db, id, revision) => markScheduleApplied(db, id, revision === "" ? null : revision),
    refused: (db, id, revision, message) => markScheduleRefused(db, id, revision === "" ? null : revision, message),
    unapplied: listUnappliedSchedules,
    async wanted(db, after, limit) {
      const rows = await listWantedSchedules(db, after, limit);
      return rows.map(({ org_id, id, cron }) => ({ org_id, id, schedule: scheduleOf(config, org_id, id, cron) }));
    },
  };
}

/** When a knowledge base is synced next, and warnings about its schedule. */
export async function syncOutlook(
  deps: OutlookDeps,
  { knowledge_base_id, schedule_cron: cron, schedule_error }: KnowledgeBaseRow,
): Promise<Outlook> {
  if (cron === null) return { next_times: null, warnings: [] };
  const id = syncScheduleId(knowledge_base_id);
  return outlookOfSchedule(deps, { id, cron, time_zone: TIME_ZONE, paused: schedule_error !== null });
}

function scheduleOf(
  { MILLRACE_TASK_QUEUE }: Settings,
  org_id: string,
  knowledge_base_id: string,
  cron: string,
): Schedule {
  return {
    id: syncScheduleId(knowledge_base_id),
    at: { cron, time_zone: TIME_ZONE },
    overlap: "skip",
    catchup_window_seconds: CATCH_UP_SECONDS,
    jitter_seconds: 0,
    paused: false,
    org_id,
    urgency: "batch",
    workflow: {
      type: "scheduledSync",
      id: scheduledSyncWorkflowId(knowledge_base_id),
      input: { org_id, knowledge_base_id },
      queue: taskQueues(MILLRACE_TASK_QUEUE).background,
    },
  };
}
