import type { ApiProblem } from "../../../api/problem.ts";
import { readWholeOutput, type TryRequest } from "../../../api/tries.ts";
import { edgesOf, nodesOf } from "../../../flow/access.ts";
import type { FlowDocument, Json } from "../../../flow/document.ts";
import type { InputField } from "../../../flow/input-fields.ts";
import type { Entered } from "./kept-inputs.ts";
import type { TrySession } from "./session.ts";

/** What to try: the whole flow, the flow up to a node, or one node with the last values of the nodes before it. */
export type Part = { readonly until: string | null; readonly isAlone: boolean };

interface Plan {
  readonly projectId: string;
  readonly document: FlowDocument;
  readonly fields: readonly InputField[];
  readonly entered: Entered;
  readonly pins: ReadonlyMap<string, Json>;
  readonly session: TrySession;
}

/** The request of a try. Values that were shortened for display are read in full first. */
export async function tryRequest(part: Part, plan: Plan): Promise<TryRequest> {
  const { projectId, document, fields, entered, pins, session } = plan;
  const { until } = part;
  const target = until?.split("/", 1)[0];
  const ids = new Set(nodesOf(document).map(({ id }) => id));
  const isUsed = (path: string): boolean => ids.has(path) && path !== target;
  const pinned: Record<string, unknown> = {};
  const pinned_from: Record<string, string> = {};
  for (const [path, value] of pins) {
    if (!isUsed(path)) continue;
    pinned[path] = value;
    const source = session.pinnedFrom.get(path) ?? session.known.get(path)?.runId;
    if (source !== undefined) pinned_from[path] = source;
  }
  if (part.isAlone && target !== undefined)
    for (const path of nodesBefore(document, target)) {
      const known = session.known.get(path);
      // Inputs come from the form.
      if (!known || Object.hasOwn(pinned, path) || fields.some(({ id }) => id === path)) continue;
      pinned[path] = await wholeValue(session, path);
      pinned_from[path] = known.runId;
    }
  return {
    project_id: projectId,
    inputs: entered.inputs,
    ...(entered.userId !== "" && { user_id: entered.userId }),
    ...(until !== null && { until }),
    ...(Object.keys(pinned).length > 0 && { pinned }),
    ...(Object.keys(pinned_from).length > 0 && { pinned_from }),
  };
}

/** The last value of a node; undefined if it has none. */
export async function wholeValue(session: TrySession, path: string): Promise<Json | undefined> {
  const known = session.known.get(path);
  if (known === undefined) return undefined;
  return (known.isCut ? await readWholeOutput(known.runId, path) : known.value) as Json;
}

/** All nodes before a node at the top level. */
function nodesBefore(document: FlowDocument, id: string): ReadonlySet<string> {
  const edges = edgesOf(document);
  const found = new Set([id]);
  // Iterating a set also visits items added during the iteration.
  for (const each of found) for (const { source, target } of edges) if (target === each) found.add(source);
  found.delete(id);
  return found;
}

/** Why a try did not start, in the terms of its form. */
export interface Refusal {
  readonly problem: ApiProblem;
  /** Messages by input. */
  readonly inputs: ReadonlyMap<string, readonly string[]>;
  /** Whether the flow itself has errors. */
  readonly isOfFlow: boolean;
  /** Whether a pinned value cannot be used: its run no longer exists, or the flow has changed. */
  readonly isOfPins: boolean;
}

export function refusalOf(problem: ApiProblem, sent: TryRequest | null): Refusal {
  const inputs = new Map<string, string[]>();
  for (const { loc, msg, type } of problem.issues) {
    if (loc[1] !== "inputs" || loc[2] === undefined) continue;
    const id = String(loc[2]);
    // The API also says how programs send the input.
    inputs.set(id, [...(inputs.get(id) ?? []), type === "missing" ? "This input is required." : msg]);
  }
  const has = (member: string): boolean => problem.issues.some(({ loc }) => loc[1] === member);
  const isGone = problem.status === 404 && sent?.pinned_from !== undefined;
  return { problem, inputs, isOfFlow: has("draft"), isOfPins: has("pinned") || isGone };
}
