import type { Plan } from "../../domain/flow/plan/types.ts";
import type { RunInput, RunLimits } from "../../domain/runs/run.ts";
import { unfinishedNodes } from "../../stores/runs/node-runs.ts";
import { resendAnswers } from "../../stores/runs/run-restarts.ts";
import type { RunRow } from "../../stores/runs/runs.ts";
import { startInput } from "./start-inputs.ts";
import { carry } from "./resume-run.ts";
import { recordedNodes } from "./recorded-nodes.ts";
import type { Parts } from "../parts.ts";

/** Most nodes in progress whose start times are passed to the new workflow. */
const MAX_BEGAN = 1000;

/** Whether a run's inputs are stored without redaction; otherwise it cannot start again. */
export const keepsInputs = (plan: Plan): boolean => !isRedacted(plan, "inputs");

/** Whether a run's outputs are stored without redaction. */
export const keepsOutputs = (plan: Plan): boolean => !isRedacted(plan, "outputs");

function isRedacted({ settings }: Plan, member: "inputs" | "outputs"): boolean {
  return (settings.redact ?? []).some((path) => path.trimStart().startsWith(member));
}

/**
 * The input of a new workflow that replaces a lost one. The run continues from its record, with its finished nodes and
 * its remaining time. Decisions that it has not used yet are sent again.
 */
export async function restartInput(
  { db, blobs, limits }: Parts<"db" | "blobs"> & { readonly limits: RunLimits },
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
    // Models with tools reuse the answers that this run has already recorded.
    resumes: { run_id, nodes: plan.nodes.map(({ id }) => id).filter((id) => !Object.hasOwn(reuse, id)) },
    restart: { began: Object.fromEntries(began) },
  };
}

/** The remaining time of a run, but at least a second, so that it can end properly. */
function remainingSeconds({ timeout_seconds, started_at }: RunRow): number {
  const passed = started_at === null ? 0 : Math.max(0, Date.now() - Date.parse(started_at));
  return Math.max(1, Math.ceil(timeout_seconds - passed / 1000));
}
