import type { RunRow } from "../../stores/runs/runs.ts";
import { earlierInputs } from "./earlier-inputs.ts";
import type { NewRunIdentity, ResumeDeps } from "./resume-run.ts";
import { outsideOfOthers, ranBy, requireInputs } from "./run-inputs.ts";

/**
 * Starts a rerun: a new run of the same flow with the same inputs. Throws 404 for an unknown version, and 422 if the
 * inputs were redacted or do not fit that version.
 */
export async function replayRun(
  { db, blobs, flows, runService, maxInputBytes }: ResumeDeps,
  run: RunRow,
  wanted: number | null,
  { run_id, repeated, principal, started_by }: NewRunIdentity,
): Promise<RunRow> {
  const { org_id, project_id, user_id, metadata, tags, timeout_seconds } = run;
  // The earlier run's version decides which inputs were redacted.
  const before = await flows.ofRun(run);
  const { version, plan, environment } = wanted === null ? before : await flows.again(run, wanted);
  const given = await earlierInputs(blobs, run, before.plan);
  const reader = { org_id, project_id, user_id, plan };
  const { inputs } = await requireInputs({ db, maxInputBytes }, reader, given, {
    loc: ["body", "inputs"],
    reserved: [],
  });
  const request = {
    org_id,
    run_id,
    project_id,
    version,
    plan,
    environment,
    inputs,
    user_id,
    metadata,
    tags,
    timeout_seconds,
    run_type: outsideOfOthers(run.run_type, version),
    ...ranBy(principal),
    started_by,
    resumed_from: { run_id: run.run_id, node_id: null, path: null },
  };
  return runService.create(request, { repeated, asynchronous: true });
}
