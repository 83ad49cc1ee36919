import { periodicallyEach } from "../../platform/periodically.ts";
import type { Periodic } from "../../platform/periodically.ts";
import {
  findSchedule,
  listUnappliedSchedules,
  lockSchedule,
  markScheduleApplied,
} from "../../stores/knowledge/knowledge-bases.ts";
import type { SyncDeps } from "./sync.ts";

const BATCH = 100;

/** Makes the schedule that Temporal has of a knowledge base the wanted one. */
async function applySchedule(
  { db, syncs }: Pick<SyncDeps, "db" | "syncs">,
  org_id: string,
  knowledge_base_id: string,
): Promise<void> {
  await db.orgTransaction(org_id, async (connection) => {
    // One after the other: what is noted last is what Temporal was told last.
    await lockSchedule(connection, knowledge_base_id);
    const schedule = await findSchedule(connection, knowledge_base_id);
    if (schedule === null || schedule.wanted === schedule.applied) return;
    await syncs.schedule({ org_id, knowledge_base_id }, schedule.wanted);
    await markScheduleApplied(connection, knowledge_base_id, schedule.wanted);
  });
}

/** The same after a change that has been committed: where it fails, the sweeper makes up for it. */
export async function followSchedule(deps: SyncDeps, orgId: string, knowledgeBaseId: string): Promise<void> {
  await applySchedule(deps, orgId, knowledgeBaseId).catch((err: unknown) =>
    deps.logger.warn({ err, knowledge_base_id: knowledgeBaseId }, "schedule of syncs not applied"),
  );
}

/** Applies schedules whose change a dead process, or a Temporal that was away, has left. Any number of processes may do it. */
export function startScheduleSweeper(
  deps: Pick<SyncDeps, "db" | "syncs">,
  intervalMs: number,
  onError: (error: unknown) => void,
): Periodic {
  return periodicallyEach(
    intervalMs,
    () => deps.db.system((connection) => listUnappliedSchedules(connection, BATCH)),
    ({ org_id, knowledge_base_id }) => applySchedule(deps, org_id, knowledge_base_id),
    onError,
  );
}
