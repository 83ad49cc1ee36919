import { z } from "zod";
import { isObject } from "../../domain/json.ts";
import type { Json } from "../../domain/json.ts";
import { conversationOf, pausePoint } from "../../domain/pages/page.ts";
import { visitorError } from "../../domain/pages/visitor-errors.ts";
import { PAUSE_KINDS, RUN_STATES } from "../../domain/runs/run.ts";
import type { PageRow } from "../../stores/pages/pages.ts";
import type { PauseRow } from "../../stores/runs/pauses.ts";
import type { RunRow } from "../../stores/runs/runs.ts";
import type { VisitorRow } from "../../stores/pages/visitors.ts";
import { asDeclared } from "../http/as-declared.ts";

/** Longest shown input, in characters. */
const INPUT_CHARS = 2000;

const citationSchema = z
  .object({
    index: z.int().describe("The number by which the text names this citation."),
    name: z.string().describe("Name of the document."),
    page_start: z.int().nullable(),
    page_end: z.int().nullable(),
    url: z.string().nullable().describe("Web address of the document, if it has one."),
  })
  .meta({ id: "PageCitation" });

const pagePauseSchema = z
  .object({
    pause_id: z.uuid(),
    kind: z.enum(PAUSE_KINDS),
    answerable: z
      .boolean()
      .describe(
        "Whether the visitor can answer. Otherwise it waits for people of the organisation, and shows nothing.",
      ),
    message: z.string().nullable(),
    data: z.unknown(),
    form: z.record(z.string(), z.unknown()).nullable().describe("JSON Schema 2020-12 of the data of an answer."),
    actions: z.array(z.object({ id: z.string(), label: z.string().optional() })),
    expires_at: z.iso.datetime().nullable(),
  })
  .meta({ id: "PagePause" });

/** A run as a stream of a page shows it. */
export const pageFrameSchema = z
  .object({
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
  })
  .meta({ id: "PageFrame" });
export type PageFrame = z.infer<typeof pageFrameSchema>;

export const pageRunSchema = pageFrameSchema
  .omit({ reset: true })
  .extend({
    inputs: z
      .record(z.string(), z.unknown())
      .describe(`Values of the inputs, keyed by node ID. Longer ones are cut after ${INPUT_CHARS} characters.`),
    feedback: z.enum(["positive", "negative"]).nullable(),
  })
  .meta({ id: "PageRun" });
export type PageRunView = z.infer<typeof pageRunSchema>;

export interface PresentablePageRun {
  readonly row: RunRow;
  readonly page: PageRow;
  readonly visitor: VisitorRow;
  readonly outputs: Readonly<Record<string, unknown>>;
  readonly citations: readonly unknown[];
  /** Only open pauses. */
  readonly pauses: readonly PauseRow[];
}

/** Whether visitors of a page may answer a pause. */
export function mayVisitorsAnswer(page: PageRow, { path, assignees }: Pick<PauseRow, "path" | "assignees">): boolean {
  return assignees === null && page.visitor_pauses.includes(pausePoint(path));
}

export function presentPageFrame(run: PresentablePageRun): PageFrame {
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
export function shownInput(value: Json): Json {
  if (isObject(value) && typeof value["preview"] === "string") return `${value["preview"]}…`;
  if (typeof value !== "string" || value.length <= INPUT_CHARS) return value;
  return `${value.slice(0, INPUT_CHARS).toWellFormed()}…`;
}
