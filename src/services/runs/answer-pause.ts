import { Problem, invalid, invalidParts } from "../../domain/errors.ts";
import { INLINE_VALUE_BYTES, type Json, type JsonObject } from "../../domain/json.ts";
import { answererOf, type Answerer } from "../../domain/runs/assignees.ts";
import { isTerminal, type PauseResolution } from "../../domain/runs/run.ts";
import { isToolPath } from "../../domain/models/agent.ts";
import type { Db } from "../../stores/db.ts";
import {
  addApproval,
  closePause,
  listPauses,
  lockPause,
  runsShowing,
  type PauseRow,
} from "../../stores/runs/pauses.ts";
import { lockRun, recordRun } from "../../stores/runs/run-record.ts";
import { getRun, type RunRow } from "../../stores/runs/runs.ts";
import { requireAssignee } from "./assignees.ts";
import { unchanged } from "./settle-run.ts";
import { checkEditedCall, editedArguments, type EditedCallDeps } from "./check-edited-call.ts";
import type { Parts } from "../parts.ts";

/** The action that decides a pause alone, even if a majority is required. */
const REJECT = "reject";

/**
 * How long after a decision the sweeper compares a run that has not continued with Temporal's view (ms), because
 * Temporal may have lost the workflow.
 */
const CHECK_ANSWERED_MS = 5000;

export type RunControlDeps = Parts<"db" | "starter" | "feed" | "logger" | "observer">;

export type PauseAnswerDeps = RunControlDeps & EditedCallDeps;

export interface PauseAnswer {
  readonly pause_id?: string | undefined;
  readonly action?: string | undefined;
  readonly data?: Json | undefined;
  readonly comment?: string | undefined;
}

/**
 * Records an answer to a pause. The deciding answer closes the pause, and the run continues. Throws 422 for an invalid
 * answer, 403 if the caller is not an assignee, and 409 or 410 for a late or repeated answer; the pause is then
 * unchanged.
 */
export async function answerPause(
  deps: PauseAnswerDeps,
  run: RunRow,
  answer: PauseAnswer,
  principal: Answerer,
): Promise<void> {
  const { db, starter, feed, logger } = deps;
  const { org_id, run_id } = run;
  let outcome = await decide();
  if ("unchecked" in outcome) {
    // Checked outside the transaction, because it may be slow; that is safe because a pause's form never changes.
    await checkData(deps, outcome);
    outcome = await decide(outcome.unchecked.pause_id);
  }
  if (!("resolution" in outcome)) return feed.changed(run_id, "progress");
  const { pause, resolution, runs } = outcome;
  for (const each of runs) feed.changed(each, "progress");
  await starter
    .signalResume(pause.workflow_id, pause.pause_id, resolution)
    .catch((err: unknown) => logger.warn({ err, run_id }, "could not signal the answer; the sweeper will retry"));

  /** Records the answer, or returns its data, which must be checked first. */
  function decide(checked?: string): Promise<Outcome> {
    return db.orgTransaction(org_id, (connection) => recordAnswer(connection, run, answer, principal, checked));
  }
}

/** The data of an answer that must still be checked, with its pause and the pause's run. */
interface Unchecked {
  readonly unchecked: PauseRow;
  readonly of: RunRow;
  readonly data: Json;
}

async function checkData(deps: PauseAnswerDeps, { unchecked: pause, of, data }: Unchecked): Promise<void> {
  if (isToolPath(pause.path)) return checkEditedCall(deps, of, pause, data as JsonObject);
  const issues = await deps.evaluation.answer(of.org_id, pause.form, data);
  if (issues.length > 0) throw invalidParts(["body", "data"], issues);
}

type Outcome =
  | Unchecked
  | { readonly pause: PauseRow; readonly resolution: PauseResolution; readonly runs: readonly string[] }
  | { readonly waitsForOthers: true };

/** `checked` is the ID of the pause for which the data was already checked. */
async function recordAnswer(
  connection: Db,
  run: RunRow,
  answer: PauseAnswer,
  principal: Answerer,
  checked: string | undefined,
): Promise<Outcome> {
  const { pause_id, run_id: ownRun } = await choosePause(connection, run, checked ?? answer.pause_id);
  const runs = [...(await runsShowing(connection, pause_id)), ownRun];
  // Like every writer, locks the runs before the pause, outermost first. The workflow's own write of PAUSED waits for
  // these locks and then sees the answer.
  for (const each of runs) await lockRun(connection, each);
  const pause = await lockPause(connection, pause_id);
  if (!pause) throw new Error(`pause ${pause_id} no longer exists`);
  requireOpen(pause);
  await requireUnderWay(connection, run.run_id, pause);
  const of = await requireUnderWay(connection, ownRun, pause);
  await requireAssignee(connection, pause, principal);
  const action = chooseAction(pause, answer);
  const data = requireData(pause, action, answer.data);
  const isEdited = isToolPath(pause.path) && data !== null;
  if ((isEdited || (pause.form !== null && answer.data !== undefined)) && pause.pause_id !== checked)
    return { unchecked: pause, of, data };
  const by = answererOf(principal);
  if (pause.received.some((each) => each.by === by)) {
    throw new Problem("pause_already_answered", "You have already answered this pause. Other assignees must answer.");
  }
  const at = new Date().toISOString();
  const received = [...pause.received, { by, action, at }];
  const alike = received.filter((each) => each.action === action).length;
  if (action !== REJECT && alike < pause.required_approvals) {
    await addApproval(connection, pause.pause_id, received);
    return { waitsForOthers: true };
  }
  const resolution: PauseResolution = { action, data, comment: answer.comment ?? null, by, at };
  await closePause(connection, pause.pause_id, "resolved", resolution, received);
  for (const each of runs) await recordResumed(connection, each);
  return { pause, resolution, runs };
}

async function choosePause(connection: Db, { run_id }: RunRow, pauseId: string | undefined): Promise<PauseRow> {
  const pauses = await listPauses(connection, run_id);
  if (pauseId !== undefined) {
    const pause = pauses.find(({ pause_id }) => pause_id === pauseId.toLowerCase());
    if (!pause) throw invalid(["body", "pause_id"], "This run has no pause with this pause_id");
    return pause;
  }
  const open = pauses.filter(({ status }) => status === "waiting");
  const [only, ...others] = open;
  if (!only) throw new Problem("run_not_resumable", "This run has no open pause.", { extra: { run_id } });
  if (others.length > 0) {
    const names = open.slice(0, 20).map(({ pause_id, path }) => `${pause_id} (${path})`);
    const message = `Several pauses are open; send one of these as pause_id: ${names.join(", ")}`;
    throw invalid(["body", "pause_id"], message, "missing");
  }
  return only;
}

function requireOpen({ status, pause_id, resolution, expires_at }: PauseRow): void {
  const extra = { pause_id };
  const answer = resolution?.action ?? "an answer";
  switch (status) {
    case "resolved":
      throw new Problem("pause_already_resolved", `The pause was already resolved with ${answer}.`, { extra });
    case "cancelled":
      throw new Problem("run_not_resumable", "The run ended before the pause was answered.", { extra });
    case "waiting":
    case "expired":
      // Checked here as well, because the workflow closes the pause at about this time and clocks differ.
      if (status === "waiting" && (expires_at === null || Date.parse(expires_at) > Date.now())) return;
      throw new Problem("pause_expired", `The pause expired at ${expires_at ?? "its time"}.`, { extra });
  }
}

/** Throws 409 if the run has finished, since a forced end may leave the pause open. */
async function requireUnderWay(connection: Db, runId: string, { pause_id }: PauseRow): Promise<RunRow> {
  const run = await getRun(connection, runId);
  if (run && !isTerminal(run.state)) return run;
  const detail = "The run is finished; its pause can no longer be answered.";
  throw new Problem("run_not_resumable", detail, { extra: { pause_id } });
}

/** The answer's action. It may be omitted only if the pause has a single action, so that an omission never approves anything. */
function chooseAction(pause: PauseRow, { action }: PauseAnswer): string {
  const ids = pause.actions.map(({ id }) => id);
  if (action === undefined) {
    const [only, ...others] = ids;
    if (only !== undefined && others.length === 0) return only;
    throw invalid(["body", "action"], `Must be one of ${ids.join(", ")}`, "missing");
  }
  if (!ids.includes(action))
    throw invalid(["body", "action"], `The pause does not have this action; choose one of ${ids.join(", ")}`);
  return action;
}

/** Checks the data of an answer without its form, and returns it; for an edited tool call these are the arguments. */
function requireData(pause: PauseRow, action: string, data: Json | undefined): Json {
  if (Buffer.byteLength(JSON.stringify(data ?? null)) > INLINE_VALUE_BYTES) {
    const message = `The data of an answer can be at most ${INLINE_VALUE_BYTES} bytes of JSON`;
    throw invalid(["body", "data"], message, "too_large");
  }
  if (isToolPath(pause.path)) return data === undefined || data === null ? null : editedArguments(pause, data);
  if (pause.form === null || (action === REJECT && data === undefined)) return data ?? null;
  if (data === undefined) throw invalid(["body", "data"], "The pause has a form: send data that matches it", "missing");
  return data;
}

async function recordResumed(connection: Db, runId: string): Promise<void> {
  const run = await getRun(connection, runId);
  if (!run || isTerminal(run.state)) return;
  await recordRun(connection, { ...unchanged(run), state: "RESUMED" }, [], CHECK_ANSWERED_MS);
}
