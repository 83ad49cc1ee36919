import type { Plan } from "../../domain/flow/plan/types.ts";
import type { RunInput, RunLimits } from "../../domain/runs/run.ts";
import type { BlobStore } from "../../platform/blobs/blobs.ts";
import type { Database } from "../../stores/db.ts";
import { unfinishedNodes } from "../../stores/runs/node-runs.ts";
import { resendAnswers } from "../../stores/runs/run-restarts.ts";
import type { RunRow } from "../../stores/runs/runs.ts";
import { startInput } from "./start-inputs.ts";
import { carry } from "./resume-run.ts";
import { recordedNodes } from "./recorded-nodes.ts";

/** Most nodes in progress whose start times are handed to the new workflow. */
const MAX_BEGAN = 1000;

/** Whether the inputs of a run are kept whole; otherwise it cannot start again. */
export const keepsInputs = (plan: Plan): boolean => !isRedacted(plan, "inputs");

/** Whether the outputs of a run are kept whole. */
export const keepsOutputs = (plan: Plan): boolean => !isRedacted(plan, "outputs");

function isRedacted({ settings }: Plan, member: "inputs" | "outputs"): boolean {
  return (settings.redact ?? []).some((path) => path.trimStart().startsWith(member));
}

/**
 * The input of a new workflow for a run whose earlier one is lost. The run goes on from its record: with its ended
 * nodes, within the time that is left. Answers that it has not used yet are sent again.
 */
export async function restartInput(
  { db, blobs, limits }: { readonly db: Database; readonly blobs: BlobStore; readonly limits: RunLimits },
  run: RunRow,
  plan: Plan,
): Promise<Omit<RunInput, "plan">> {
  const { org_id, run_id } = run;
  const reuse = await carry(blobs, org_id, await recordedNodes(db, run, plan));
  const underWay = await db.org(org_id, async (connection) => {
    await resendAnswers(connection, run_id, Object.keys(reuse));
    return unfinishedNodes(connection, run_id);
  });
  const began = underWay
    .flatMap(({ path, started_at }) => (started_at === null ? [] : [[path, started_at] as const]))
    .slice(0, MAX_BEGAN);
  return {
    ...startInput(run),
    limits,
    timeout_seconds: remainingSeconds(run),
    reuse,
    // Models with tools go on with the answers that they have.
    resumes: { run_id, nodes: plan.nodes.map(({ id }) => id).filter((id) => !Object.hasOwn(reuse, id)) },
    restart: { began: Object.fromEntries(began) },
  };
}

/** The rest of a run's time, but at least a second, so that it can end properly. */
function remainingSeconds({ timeout_seconds, started_at }: RunRow): number {
  const passed = started_at === null ? 0 : Math.max(0, Date.now() - Date.parse(started_at));
  return Math.max(1, Math.ceil(timeout_seconds - passed / 1000));
}
