import { Problem, ValidationProblem, invalid } from "../../domain/errors.ts";
import { INLINE_VALUE_BYTES } from "../../domain/json.ts";
import type { Json } from "../../domain/json.ts";
import { answererOf } from "../../domain/runs/assignees.ts";
import type { PauseResolution } from "../../domain/runs/run.ts";
import { isToolPath } from "../../domain/models/agent.ts";
import { isTerminal } from "../../domain/runs/run.ts";
import type { Database, Db } from "../../stores/db.ts";
import { addApproval, closePause, listPauses, lockPause, runsShowing } from "../../stores/runs/pauses.ts";
import type { PauseRow } from "../../stores/runs/pauses.ts";
import { lockRun, recordRun } from "../../stores/runs/run-record.ts";
import { getRun } from "../../stores/runs/runs.ts";
import type { RunRow } from "../../stores/runs/runs.ts";
import type { Evaluation } from "../../platform/evaluation/evaluation.ts";
import type { Logger } from "../../platform/logging/logger.ts";
import type { RunFeed } from "../../stores/runs/run-feed.ts";
import type { RunStarter } from "../../temporal/runs.ts";
import type { RunObserver } from "./run-observer.ts";
import { requireAssignee } from "./assignees.ts";
import type { Principal } from "../../domain/accounts/principal.ts";

/** Rejects without a majority: one objection is enough. */
const REJECT = "reject";

/**
 * Age from which an answered run that has not gone on is compared with Temporal's view (ms). Like a start or a
 * cancellation, an answer may have met a Temporal that has lost the workflow.
 */
const CHECK_ANSWERED_MS = 5000;

/** What changing a run in progress needs. */
export interface RunControlDeps {
  readonly db: Database;
  readonly starter: RunStarter;
  readonly feed: RunFeed;
  readonly observer: RunObserver;
  readonly logger: Logger;
}

export interface PauseAnswerDeps extends RunControlDeps {
  readonly evaluation: Evaluation;
}

export interface PauseAnswer {
  readonly pause_id?: string | undefined;
  readonly action?: string | undefined;
  readonly data?: Json | undefined;
  readonly comment?: string | undefined;
}

/**
 * Records an answer to a pause. The deciding answer closes the pause, and the run goes on. Throws 422 for an answer
 * that does not fit, 403 for one by somebody else than the assignees, 409 and 410 for one that is late or repeated;
 * then the pause stays as it is.
 */
export async function answerPause(
  { db, starter, feed, logger, evaluation }: PauseAnswerDeps,
  run: RunRow,
  answer: PauseAnswer,
  principal: Principal,
): Promise<void> {
  const { org_id, run_id } = run;
  let outcome = await decide();
  if ("form" in outcome) {
    // The check may take longer than a transaction should. The form of a pause never changes.
    const { pause_id, form, data } = outcome;
    const issues = await evaluation.answer(org_id, form, data);
    if (issues.length > 0) {
      throw new ValidationProblem(
        issues.map(({ path, message }) => ({ loc: ["body", "data", ...path], msg: message, type: "value_error" })),
      );
    }
    outcome = await decide(pause_id);
  }
  if (!("resolution" in outcome)) return feed.changed(run_id, "progress");
  const { pause, resolution, runs } = outcome;
  for (const each of runs) feed.changed(each, "progress");
  await starter
    .signalResume(pause.workflow_id, pause.pause_id, resolution)
    .catch((err: unknown) => logger.warn({ err, run_id }, "answer not signalled; the sweeper will"));

  /** Records the answer, or returns the form that its data must be checked against first. */
  function decide(checked?: string): Promise<Outcome> {
    return db.orgTransaction(org_id, (client) => recordAnswer(client, run, answer, principal, checked));
  }
}

type Outcome =
  | { readonly pause_id: string; readonly form: Json; readonly data: Json }
  | { readonly pause: PauseRow; readonly resolution: PauseResolution; readonly runs: readonly string[] }
  | { readonly waitsForOthers: true };

/** `checked` is the pause against whose form the data was checked. */
async function recordAnswer(
  client: Db,
  run: RunRow,
  answer: PauseAnswer,
  principal: Principal,
  checked: string | undefined,
): Promise<Outcome> {
  const { pause_id, run_id: ownRun } = await choosePause(client, run, checked ?? answer.pause_id);
  const runs = [...(await runsShowing(client, pause_id)), ownRun];
  // Locks the runs before the pause, like every writer, the outermost first. A workflow's own write of PAUSED waits
  // behind the locks and sees the answer.
  for (const each of runs) await lockRun(client, each);
  const pause = await lockPause(client, pause_id);
  if (!pause) throw new Error(`pause ${pause_id} has gone`);
  requireOpen(pause);
  await requireUnderWay(client, run.run_id, pause);
  await requireUnderWay(client, ownRun, pause);
  await requireAssignee(client, pause, principal);
  const action = chooseAction(pause, answer);
  const data = requireData(pause, action, answer.data);
  if (pause.form !== null && answer.data !== undefined && pause.pause_id !== checked) {
    return { pause_id: pause.pause_id, form: pause.form, data };
  }
  const by = answererOf(principal);
  if (pause.received.some((each) => each.by === by)) {
    throw new Problem("pause_already_answered", "You have answered this pause already; it needs the answer of others.");
  }
  const at = new Date().toISOString();
  const received = [...pause.received, { by, action, at }];
  const alike = received.filter((each) => each.action === action).length;
  if (action !== REJECT && alike < pause.required_approvals) {
    await addApproval(client, pause.pause_id, received);
    return { waitsForOthers: true };
  }
  const resolution: PauseResolution = { action, data, comment: answer.comment ?? null, by, at };
  await closePause(client, pause.pause_id, "resolved", resolution, received);
  for (const each of runs) await recordResumed(client, each);
  return { pause, resolution, runs };
}

async function choosePause(client: Db, { run_id }: RunRow, pauseId: string | undefined): Promise<PauseRow> {
  const pauses = await listPauses(client, run_id);
  if (pauseId !== undefined) {
    const pause = pauses.find(({ pause_id }) => pause_id === pauseId.toLowerCase());
    if (!pause) throw invalid(["body", "pause_id"], "The run has no such pause");
    return pause;
  }
  const open = pauses.filter(({ status }) => status === "waiting");
  const [only, ...others] = open;
  if (!only) throw new Problem("run_not_resumable", "No pause of the run waits for an answer.", { extra: { run_id } });
  if (others.length > 0) {
    const names = open.slice(0, 20).map(({ pause_id, path }) => `${pause_id} (${path})`);
    throw invalid(["body", "pause_id"], `Several pauses are open, name one of them: ${names.join(", ")}`, "missing");
  }
  return only;
}

function requireOpen(pause: PauseRow): void {
  const extra = { pause_id: pause.pause_id };
  switch (pause.status) {
    case "resolved":
      throw new Problem(
        "pause_already_resolved",
        `The pause was resolved with ${pause.resolution?.action ?? "an answer"}.`,
        {
          extra,
        },
      );
    case "cancelled":
      throw new Problem("run_not_resumable", "The run ended before the pause was answered.", { extra });
    case "expired":
      throw expired(pause);
    case "waiting":
      // The workflow closes the pause at about this time. The result must not depend on whose clock is ahead.
      if (pause.expires_at !== null && Date.parse(pause.expires_at) <= Date.now()) throw expired(pause);
  }
}

/** A forced end may come before the workflow could close the pause. */
async function requireUnderWay(client: Db, runId: string, { pause_id }: PauseRow): Promise<void> {
  const run = await getRun(client, runId);
  if (run && !isTerminal(run.state)) return;
  throw new Problem("run_not_resumable", "The run has ended; its pause cannot be answered any more.", {
    extra: { pause_id },
  });
}

function expired(pause: PauseRow): Problem {
  return new Problem("pause_expired", `The pause expired at ${pause.expires_at ?? "its time"}.`, {
    extra: { pause_id: pause.pause_id },
  });
}

/** Without an action, the answer means the only one. If there are several, silence approves nothing. */
function chooseAction(pause: PauseRow, { action }: PauseAnswer): string {
  const ids = pause.actions.map(({ id }) => id);
  if (action === undefined) {
    const [only, ...others] = ids;
    if (only !== undefined && others.length === 0) return only;
    throw invalid(["body", "action"], `Choose one of ${ids.join(", ")}`, "missing");
  }
  if (!ids.includes(action))
    throw invalid(["body", "action"], `The pause has no such action; choose one of ${ids.join(", ")}`);
  return action;
}

/** Checks the data of an answer as far as possible without its form. */
function requireData(pause: PauseRow, action: string, data: Json | undefined): Json {
  if (Buffer.byteLength(JSON.stringify(data ?? null)) > INLINE_VALUE_BYTES) {
    throw invalid(
      ["body", "data"],
      `The data of an answer is at most ${INLINE_VALUE_BYTES} bytes of JSON`,
      "too_large",
    );
  }
  if (
    isToolPath(pause.path) &&
    data !== undefined &&
    data !== null &&
    (typeof data !== "object" || Array.isArray(data))
  )
    throw invalid(["body", "data"], "The new arguments of a call must be an object", "object_type");
  if (pause.form === null || (action === REJECT && data === undefined)) return data ?? null;
  if (data === undefined) throw invalid(["body", "data"], "The pause asks for data; see its form", "missing");
  return data;
}

async function recordResumed(client: Db, runId: string): Promise<void> {
  const run = await getRun(client, runId);
  if (!run || isTerminal(run.state)) return;
  const { org_id, run_id } = run;
  const { total_nodes, started_nodes, completed_nodes, skipped_nodes, current_node } = run;
  await recordRun(
    client,
    {
      org_id,
      run_id,
      temporal_run_id: "",
      started_at: run.started_at,
      state: "RESUMED",
      progress: { total_nodes, started_nodes, completed_nodes, skipped_nodes, current_node },
      nodes: [],
    },
    [],
    CHECK_ANSWERED_MS,
  );
}
