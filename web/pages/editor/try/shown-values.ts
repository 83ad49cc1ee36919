import type { LiveTexts } from "../../../api/live-texts.ts";
import type { NodeRun } from "../../../api/runs.ts";
import type { Json } from "../../../flow/document.ts";
import { duration } from "../../../parts/time.tsx";
import type { ShownValue } from "../editor-context.ts";

const PREVIEW = 40;

/** The node in the document that a path of a run means: `map-0[2]/tpl-0` is `map-0/tpl-0`. */
export const documentPath = (path: string): string => path.replaceAll(/\[\d+\]/g, "");

/** The iterations of each node by its path in the document. */
function iterationsOf(nodes: readonly NodeRun[]): ReadonlyMap<string, readonly NodeRun[]> {
  const byPath = new Map<string, NodeRun[]>();
  for (const node of nodes) {
    const path = documentPath(node.path);
    const known = byPath.get(path);
    if (known) known.push(node);
    else byPath.set(path, [node]);
  }
  return byPath;
}

/** The output of each node that has one, by its path in the document. A node in a map or loop has the one of its newest iteration. */
export function outputsOf(nodes: readonly NodeRun[]): ReadonlyMap<string, ShownValue> {
  const newest = [...iterationsOf(nodes)].map(([path, group]) => [path, decisive(group)] as const);
  return new Map(
    newest.flatMap(([path, { state, output, path: at }]) =>
      output === null ? [] : [[path, { state, value: output as Json, ...iterationIn(at) }] as const],
    ),
  );
}

const iterationIn = (path: string): { readonly iteration?: number } => {
  const [, iteration] = /\[(\d+)\][^[]*$/.exec(path) ?? [];
  return iteration === undefined ? {} : { iteration: Number(iteration) };
};

/** What the canvas and the panels show of a run's nodes. A node in a map or loop shows its newest iteration. */
export function shownValues(nodes: readonly NodeRun[], texts: LiveTexts): ReadonlyMap<string, ShownValue> {
  const shown = new Map<string, ShownValue>();
  for (const [path, group] of iterationsOf(nodes)) {
    const newest = decisive(group);
    const written = texts.textOf(newest.path);
    const value = newest.state === "COMPLETED" ? (newest.output as Json) : written;
    shown.set(path, {
      state: newest.state,
      ...(value != null && { value }),
      ...iterationIn(newest.path),
      error: newest.error?.message ?? null,
      note: noteOf(newest, group, value),
    });
  }
  return shown;
}

/** The iteration that a nested node's state is taken from: a failed one, one that has not finished, or the last. */
function decisive(group: readonly NodeRun[]): NodeRun {
  const unfinished = group.findLast(({ finished_at, state }) => finished_at === null && state !== "SKIPPED");
  return group.find(({ state }) => state === "FAILED") ?? unfinished ?? (group.at(-1) as NodeRun);
}

function noteOf(node: NodeRun, group: readonly NodeRun[], value: Json | undefined): string | null {
  const { started_at, finished_at, pinned } = node;
  const took =
    started_at === null || finished_at === null ? null : duration(Date.parse(finished_at) - Date.parse(started_at));
  const done = group.filter((each) => each.finished_at !== null || each.state === "SKIPPED").length;
  const iterations = group.length > 1 || node.path.includes("[") ? `${done} of ${group.length}` : null;
  const parts = [pinned ? "pinned" : took, iterations, value === undefined ? null : preview(value)];
  const said = parts.filter((part) => part !== null && part !== "");
  return said.length === 0 ? null : said.join(" · ");
}

/** The beginning of a value in one line. */
export function preview(value: Json): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const line = text
    .slice(0, 4 * PREVIEW)
    .replaceAll(/\s+/g, " ")
    .trim();
  return line.length > PREVIEW ? `${line.slice(0, PREVIEW)}…` : line;
}
