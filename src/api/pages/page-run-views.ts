import { z } from "zod";
import { feedbackId, conversationOf, pausePoint } from "../../domain/pages/page.ts";
import { feedbackOf } from "../../services/evals/give-score.ts";
import type { VisitorOn } from "../../services/pages/visitor-runs.ts";
import { listPauses, type PauseRow } from "../../stores/runs/pauses.ts";
import type { RunRow } from "../../stores/runs/runs.ts";
import { isObject, type Json } from "../../domain/json.ts";
import { visitorError } from "../../domain/pages/visitor-errors.ts";
import { PAUSE_KINDS, RUN_STATES } from "../../domain/runs/run.ts";
import type { PageRow } from "../../stores/pages/pages.ts";
import type { HandlerDeps } from "../deps.ts";
import { SSE_COMMENT, serverSentEvent } from "../http/event-stream.ts";
import type { InferenceView } from "../runs/inference-presenter.ts";
import { followFrames } from "../runs/partial-outputs.ts";
import { viewInference, shortValues } from "../runs/run-views.ts";
import { asDeclared, named } from "../http/schemas.ts";

/** Longest shown input, in characters. */
const INPUT_CHARS = 2000;

const citationSchema = named("PageCitation", {
  index: z.int().describe("The number by which the text names this citation."),
  name: z.string().describe("Name of the document."),
  page_start: z.int().nullable(),
  page_end: z.int().nullable(),
  url: z.string().nullable().describe("Web address of the document, if it has one."),
});

const pagePauseSchema = named("PagePause", {
  pause_id: z.uuid(),
  kind: z.enum(PAUSE_KINDS),
  answerable: z
    .boolean()
    .describe("Whether the visitor can answer. Otherwise it waits for people of the organisation, and shows nothing."),
  message: z.string().nullable(),
  data: z.unknown(),
  form: z.record(z.string(), z.unknown()).nullable().describe("JSON Schema 2020-12 of the data of an answer."),
  actions: z.array(z.object({ id: z.string(), label: z.string().optional() })),
  expires_at: z.iso.datetime().nullable(),
});

/** A run as a stream of a page shows it. */
export const pageFrameSchema = named("PageFrame", {
  run_id: z.uuid(),
  conversation_id: z.uuid(),
  state: z.enum(RUN_STATES),
  outputs: z.record(z.string(), z.unknown()).describe("Values of the outputs, keyed by node ID."),
  citations: z.array(citationSchema),
  progress: z.object({ completed: z.int(), total: z.int() }).describe("Nodes of the flow."),
  pauses: z.array(pagePauseSchema).describe("Pauses that wait for an answer."),
  error: z.object({ code: z.string(), message: z.string().describe("For the visitor to read.") }).nullable(),
  created_at: z.iso.datetime(),
  finished_at: z.iso.datetime().nullable(),
  reset: z.literal(true).optional().describe("`true` if each output in this frame starts again from the beginning."),
});
type PageFrame = z.infer<typeof pageFrameSchema>;

export const pageRunSchema = pageFrameSchema
  .omit({ reset: true })
  .extend({
    inputs: z
      .record(z.string(), z.unknown())
      .describe(`Values of the inputs, keyed by node ID. Longer ones are cut after ${INPUT_CHARS} characters.`),
    feedback: z.enum(["positive", "negative"]).nullable(),
  })
  .meta({ id: "PageRun" });
type PageRunView = z.infer<typeof pageRunSchema>;

interface PresentablePageRun extends RunOn {
  readonly outputs: Readonly<Record<string, unknown>>;
  readonly citations: readonly unknown[];
  /** Only open pauses. */
  readonly pauses: readonly PauseRow[];
}

/** Whether visitors of a page may answer a pause. */
export function mayVisitorsAnswer(page: PageRow, { path, assignees }: Pick<PauseRow, "path" | "assignees">): boolean {
  return assignees === null && page.visitor_pauses.includes(pausePoint(path));
}

function presentPageFrame(run: PresentablePageRun): PageFrame {
  const { row, page, visitor, outputs, citations, pauses } = run;
  return asDeclared(pageFrameSchema, {
    ...row,
    conversation_id: conversationOf(visitor.visitor_id, row.user_id) ?? "",
    outputs,
    citations: citations.flatMap(presentCitation),
    progress: { completed: row.completed_nodes + row.skipped_nodes, total: row.total_nodes },
    pauses: pauses.map((pause) => presentPagePause(page, pause)),
    error: visitorError(row.error),
  });
}

function presentPagePause(page: PageRow, pause: PauseRow): z.infer<typeof pagePauseSchema> {
  const { pause_id, kind, expires_at } = pause;
  if (!mayVisitorsAnswer(page, pause))
    return { pause_id, kind, answerable: false, message: null, data: null, form: null, actions: [], expires_at };
  const form = isObject(pause.form) ? pause.form : null;
  return asDeclared(pagePauseSchema, { ...pause, form, answerable: true });
}

/** Without the IDs of the organisation's documents. An address that is not one of the web is left out, because readers follow it. */
function presentCitation(citation: unknown): Array<z.infer<typeof citationSchema>> {
  if (!isObject(citation) || typeof citation["resource_path"] !== "string") return [];
  const { index, resource_path, source_url, page_start, page_end } = citation;
  const isWeb = typeof source_url === "string" && /^https?:\/\//i.test(source_url);
  return [
    {
      index: wholeNumber(index) ?? 0,
      name: resource_path,
      page_start: wholeNumber(page_start),
      page_end: wholeNumber(page_end),
      url: isWeb ? source_url : null,
    },
  ];
}

const wholeNumber = (value: unknown): number | null => (Number.isSafeInteger(value) ? (value as number) : null);

/** An input as a list of messages shows it. `value` may be the placeholder of a long value. */
function shownInput(value: Json): Json {
  if (isObject(value) && typeof value["preview"] === "string") return `${value["preview"]}…`;
  if (typeof value !== "string" || value.length <= INPUT_CHARS) return value;
  return `${value.slice(0, INPUT_CHARS).toWellFormed()}…`;
}

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
  let view: InferenceView | undefined;
  let pauses: PauseRow[] = [];
  let isFirst = true;
  for await (const next of followFrames(deps, row, true, signal)) {
    if (next === null) {
      yield SSE_COMMENT;
      continue;
    }
    if (view !== next.view) pauses = await openPauses(deps, next.row, next.view);
    view = next.view;
    for (const { outputs, citations, reset } of next.frames) {
      const shown = presentPageFrame({ page, visitor, row: next.row, outputs, citations, pauses });
      const frame: PageFrame = { ...shown, ...((isFirst || reset) && { reset: true }) };
      isFirst = false;
      yield serverSentEvent(next.row.event_seq, null, frame);
    }
    // The visitor decides next. A pause of others may end while the visitor watches.
    if (next.row.state === "PAUSED" && pauses.some((pause) => mayVisitorsAnswer(page, pause))) return;
  }
}
