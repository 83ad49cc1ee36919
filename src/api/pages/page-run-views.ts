import { feedbackId } from "../../domain/pages/page.ts";
import { isTerminal } from "../../domain/runs/run.ts";
import { feedbackOf } from "../../services/evals/give-score.ts";
import type { VisitorOn } from "../../services/pages/visitor-runs.ts";
import { listPauses } from "../../stores/runs/pauses.ts";
import type { PauseRow } from "../../stores/runs/pauses.ts";
import type { RunRow } from "../../stores/runs/runs.ts";
import type { HandlerDeps } from "../deps.ts";
import { SSE_COMMENT, serverSentEvent } from "../http/event-stream.ts";
import { followRun } from "../runs/follow-run.ts";
import type { InferenceView } from "../runs/inference-presenter.ts";
import { createFrames, partialOutputs } from "../runs/partial-outputs.ts";
import { viewInference } from "../runs/run-views.ts";
import { shortValues } from "../runs/run-values.ts";
import { mayVisitorsAnswer, presentPageFrame, shownInput } from "./page-run-presenter.ts";
import type { PageFrame, PageRunView } from "./page-run-presenter.ts";

interface RunOn extends VisitorOn {
  readonly row: RunRow;
}

async function openPauses({ db }: HandlerDeps, row: RunRow, view: InferenceView): Promise<PauseRow[]> {
  if (view.pause === null) return [];
  const pauses = await db.org(row.org_id, (connection) => listPauses(connection, row.run_id));
  return pauses.filter(({ status }) => status === "waiting");
}

/** Several runs as a visitor sees them, in their order. */
export async function viewPageRuns(deps: HandlerDeps, rows: readonly RunRow[], on: VisitorOn): Promise<PageRunView[]> {
  const given = await feedbackOf(
    deps.db,
    on.page.org_id,
    rows.map(({ run_id }) => feedbackId(run_id)),
  );
  const views: PageRunView[] = [];
  // One by one, because each may load long values.
  for (const row of rows) {
    const view = await viewInference(deps, row);
    const pauses = await openPauses(deps, row, view);
    const { outputs, citations } = view;
    const inputs = Object.entries(await shortValues(deps.blobs, row.inputs)).map(([id, value]) => [
      id,
      shownInput(value),
    ]);
    views.push({
      ...presentPageFrame({ ...on, row, outputs, citations, pauses }),
      inputs: Object.fromEntries(inputs),
      feedback: given.get(feedbackId(row.run_id)) ?? null,
    });
  }
  return views;
}

/** A run as a visitor sees it. */
export async function viewPageRun(deps: HandlerDeps, { row, ...on }: RunOn): Promise<PageRunView> {
  const [view] = await viewPageRuns(deps, [row], on);
  if (view === undefined) throw new Error("one run has one view");
  return view;
}

/** The frames of a run as server-sent events, until it finishes or waits for the visitor. */
export async function* pageFrames(
  deps: HandlerDeps,
  { row, page, visitor }: RunOn,
  signal: AbortSignal,
): AsyncGenerator<string, void> {
  const { db, plans, config } = deps;
  const keepAliveMs = config.MILLRACE_STREAM_KEEP_ALIVE_MS;
  const { waiter, texts } = deps.runService;
  const { plan } = await plans.get(row);
  const partial = partialOutputs(plan, row);
  const framesOf = createFrames(true);
  let lastRow: RunRow | undefined;
  let view: InferenceView | undefined;
  let pauses: PauseRow[] = [];
  let isFirst = true;
  for await (const next of followRun({ db, waiter, texts, keepAliveMs }, row, partial.paths, signal)) {
    if (next === null) {
      yield SSE_COMMENT;
      continue;
    }
    // Most frames differ only in one text.
    if (!view || lastRow !== next.row) {
      view = await viewInference(deps, next.row);
      pauses = await openPauses(deps, next.row, view);
    }
    lastRow = next.row;
    const growing = isTerminal(next.row.state) ? {} : partial.of(next.texts);
    for (const { outputs, reset } of framesOf({ ...view, outputs: { ...growing, ...view.outputs } })) {
      const { citations } = view;
      const shown = presentPageFrame({ page, visitor, row: next.row, outputs, citations, pauses });
      const frame: PageFrame = { ...shown, ...((isFirst || reset) && { reset: true }) };
      isFirst = false;
      yield serverSentEvent(next.row.event_seq, null, frame);
    }
    // The visitor decides next. A pause of others may end while the visitor watches.
    if (next.row.state === "PAUSED" && pauses.some((pause) => mayVisitorsAnswer(page, pause))) return;
  }
}
