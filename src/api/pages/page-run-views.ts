import { feedbackId } from "../../domain/pages/page.ts";
import { isTerminal } from "../../domain/runs/run.ts";
import { feedbackOf } from "../../services/evals/give-score.ts";
import type { VisitorOn } from "../../services/pages/visitor-runs.ts";
import { listPauses } from "../../stores/runs/pauses.ts";
import type { PauseRow } from "../../stores/runs/pauses.ts";
import type { RunRow } from "../../stores/runs/runs.ts";
import type { ApiDeps, ApiServices } from "../deps.ts";
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

/** Runs as visitors see them. */
export interface PageRunViews {
  run(of: RunOn): Promise<PageRunView>;
  /** Several runs, in their order. */
  runs(rows: readonly RunRow[], on: VisitorOn): Promise<PageRunView[]>;
  /** The frames of a run as server-sent events, until it finishes or waits for the visitor. */
  frames(of: RunOn, signal: AbortSignal): AsyncGenerator<string, void>;
}

export function createPageRunViews(deps: ApiDeps, services: Pick<ApiServices, "runService">): PageRunViews {
  const { db, blobs, plans, config } = deps;
  const keepAliveMs = config.MILLRACE_STREAM_KEEP_ALIVE_MS;

  async function openPauses(row: RunRow, view: InferenceView): Promise<PauseRow[]> {
    if (view.pause === null) return [];
    const pauses = await db.org(row.org_id, (connection) => listPauses(connection, row.run_id));
    return pauses.filter(({ status }) => status === "waiting");
  }

  async function runs(rows: readonly RunRow[], on: VisitorOn): Promise<PageRunView[]> {
    const given = await feedbackOf(
      db,
      on.page.org_id,
      rows.map(({ run_id }) => feedbackId(run_id)),
    );
    const views: PageRunView[] = [];
    // One by one, because each may load long values.
    for (const row of rows) {
      const view = await viewInference(deps, row);
      const pauses = await openPauses(row, view);
      const { outputs, citations } = view;
      const inputs = Object.entries(await shortValues(blobs, row.inputs)).map(([id, value]) => [id, shownInput(value)]);
      views.push({
        ...presentPageFrame({ ...on, row, outputs, citations, pauses }),
        inputs: Object.fromEntries(inputs),
        feedback: given.get(feedbackId(row.run_id)) ?? null,
      });
    }
    return views;
  }

  return {
    runs,
    async run({ row, ...on }) {
      const [view] = await runs([row], on);
      if (view === undefined) throw new Error("one run has one view");
      return view;
    },
    async *frames({ row, page, visitor }, signal) {
      const { waiter, texts } = services.runService;
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
          pauses = await openPauses(next.row, view);
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
    },
  };
}
