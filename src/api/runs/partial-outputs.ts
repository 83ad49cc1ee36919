import type { Plan } from "../../domain/flow/plan/types.ts";
import { streamedOutputs, type Before, type StreamedSource } from "../../domain/flow/plan/streamed-outputs.ts";
import { mayMask, parseRedactPaths } from "../../domain/flow/redact.ts";
import type { Json } from "../../domain/json.ts";
import type { Texts } from "../../services/runs/live-texts.ts";
import type { RunRow } from "../../stores/runs/runs.ts";
import { isTerminal } from "../../domain/runs/run.ts";
import type { HandlerDeps } from "../deps.ts";
import type { InferenceView } from "./inference-presenter.ts";
import { followRun } from "./follow-run.ts";
import { viewInference } from "./run-views.ts";

/** The outputs of a run that grow while its models write text. */
interface PartialOutputs {
  /** The nodes that write these outputs. */
  readonly paths: ReadonlySet<string>;
  of(texts: Texts): Record<string, Json>;
}

/** The outputs that grow while models write, without the ones that the flow may mask. */
function shownStreams(plan: Plan): Array<readonly [output: string, sources: readonly StreamedSource[]]> {
  const redact = parseRedactPaths(plan.settings.redact ?? []);
  const paths = redact.ok ? redact.paths : [];
  return [...streamedOutputs(plan)].filter(([id]) => !mayMask(paths, ["outputs", id], "text"));
}

/** By node, the outputs that stream its text. */
export function outputsByNode(plan: Plan): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  for (const [id, sources] of shownStreams(plan))
    for (const { node_id } of sources) found.set(node_id, [...(found.get(node_id) ?? []), id]);
  return found;
}

function partialOutputs(plan: Plan, { inputs }: Pick<RunRow, "inputs">): PartialOutputs {
  const words = (before: readonly Before[]): string | null => {
    const parts = before.map((part) => ("words" in part ? part.words : inputText(plan, inputs, part.input)));
    return parts.includes(null) ? null : parts.join("");
  };
  const outputs = shownStreams(plan).map(([id, sources]) => {
    const known = sources.flatMap(({ node_id, before }) => {
      const text = words(before);
      return text === null ? [] : [{ node_id, before: text }];
    });
    return [id, known] as const;
  });
  return {
    paths: new Set(outputs.flatMap(([, sources]) => sources.map(({ node_id }) => node_id))),
    of: (texts) =>
      Object.fromEntries(
        outputs.flatMap(([id, sources]) => {
          const live = sources.find(({ node_id }) => texts.has(node_id));
          return live ? [[id, live.before + (texts.get(live.node_id)?.text ?? "")]] : [];
        }),
      ),
  };
}

/** The text of an input; null if it is too long to be stored inline, or was omitted. */
function inputText(plan: Plan, inputs: RunRow["inputs"], id: string): string | null {
  const given = inputs[id];
  const value = given === undefined ? defaultOf(plan, id) : "v" in given ? given.v : null;
  return typeof value === "string" ? value : null;
}

function defaultOf(plan: Plan, id: string): unknown {
  const config = plan.nodes.find((node) => node.id === id)?.config;
  return config && "default" in config ? config.default : undefined;
}

/** A frame; `reset` means that each output in it starts again from the beginning. */
type Frame = InferenceView & { readonly reset?: true };

/**
 * Makes frames of a run's outputs so far. With `delta` a frame contains only what is new: outputs that earlier frames did not have, and
 * text added to them. An output that does not continue what was sent is sent as a whole, in a frame with `reset`.
 */
function createFrames(delta: boolean): (view: InferenceView) => Frame[] {
  const sent = new Map<string, Json>();
  return (view) => {
    const added: Record<string, Json> = {};
    const anew: Record<string, Json> = {};
    for (const [id, value] of Object.entries(view.outputs as Record<string, Json>)) {
      const before = sent.get(id);
      if (before === undefined) added[id] = value;
      else if (typeof before === "string" && typeof value === "string" && value.startsWith(before)) {
        if (value.length > before.length) added[id] = value.slice(before.length);
      } else if (JSON.stringify(before) !== JSON.stringify(value)) anew[id] = value;
      sent.set(id, value);
    }
    const isReset = Object.keys(anew).length > 0;
    if (!delta) return [isReset ? { ...view, reset: true } : view];
    if (!isReset) return [{ ...view, outputs: added }];
    const reset: Frame = { ...view, outputs: anew, reset: true };
    return Object.keys(added).length > 0 ? [reset, { ...view, outputs: added }] : [reset];
  };
}

/** A run at one moment of a stream. The view is the same object until the run's record changes: most frames differ only in one text. */
interface FramedMoment {
  readonly row: RunRow;
  readonly view: InferenceView;
  readonly frames: readonly Frame[];
}

/** The frames of a run while it is followed; null if nothing has happened for a while. Ends like `followRun`. */
export async function* followFrames(
  deps: HandlerDeps,
  run: RunRow,
  delta: boolean,
  signal: AbortSignal,
): AsyncGenerator<FramedMoment | null, void> {
  const { db, config, plans, runService } = deps;
  const framesOf = createFrames(delta);
  const partial = partialOutputs((await plans.get(run)).plan, run);
  const keepAliveMs = config.MILLRACE_STREAM_KEEP_ALIVE_MS;
  let last: FramedMoment | undefined;
  for await (const next of followRun({ db, ...runService, keepAliveMs }, run, partial.paths, signal)) {
    if (next === null) {
      yield null;
      continue;
    }
    const { row } = next;
    const view = last?.row === row ? last.view : await viewInference(deps, row);
    const growing = isTerminal(row.state) ? {} : partial.of(next.texts);
    last = { row, view, frames: framesOf({ ...view, outputs: { ...growing, ...view.outputs } }) };
    yield last;
  }
}
