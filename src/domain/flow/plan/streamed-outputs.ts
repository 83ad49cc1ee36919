import type { LlmConfig } from "../nodes/llm.ts";
import { hasTrait } from "./by-kind.ts";
import type { Plan, PlanNode } from "./types.ts";

/** A part of an output before a model's text: literal text of a template, or an input. */
export type Before = { readonly words: string } | { readonly input: string };

/** A node whose text an output streams while it grows. */
export interface StreamedSource {
  readonly node_id: string;
  readonly before: readonly Before[];
}

/** The outputs that stream a model's text while it grows, each with the nodes that may write that text. */
export function streamedOutputs(plan: Plan): ReadonlyMap<string, readonly StreamedSource[]> {
  const found = plan.nodes
    .filter(({ type }) => type === "output")
    .map(({ id }): [string, readonly StreamedSource[]] => [id, sourcesOf(plan, id)]);
  return new Map(found.filter(([, sources]) => sources.length > 0));
}

/** Whether a node writes text that can be streamed. */
export function writesText(node: PlanNode): boolean {
  return hasTrait(node, "text", "model") && answersInText(node.config);
}

/** Whether a model answers in text, which can be streamed; parts of JSON would be useless. */
export function answersInText({ schema }: Pick<LlmConfig, "schema">): boolean {
  return schema === undefined;
}

function sourcesOf(plan: Plan, id: string): StreamedSource[] {
  const node = plan.nodes.find((each) => each.id === id);
  if (!node) return [];
  if (writesText(node)) return [{ node_id: id, before: [] }];
  if (!hasTrait(node, "text", "template")) return [];
  const template = node.type === "output" ? node.config.value : node.config.template;
  if (template === undefined) {
    return plan.edges
      .filter(({ source_handle, target }) => target === id && source_handle === "out")
      .flatMap(({ source }) => sourcesOf(plan, source));
  }
  const parts = firstMoving(plan, template);
  return parts === null
    ? []
    : sourcesOf(plan, parts.moving).map(({ node_id, before }) => ({ node_id, before: [...parts.before, ...before] }));
}

/**
 * Matches `{{llm-0}}`, `{{nodes["llm-0"]}}`, and either with `.text`, but not with filters or with tags that strip the surrounding
 * whitespace.
 */
const PLACE =
  /\{\{\s*(?:([A-Za-z0-9_-]*[A-Za-z0-9_])|nodes\[(?:"([A-Za-z0-9_-]+)"|'([A-Za-z0-9_-]+)')\])(\.text)?\s*\}\}/y;

/** The first node in a template that is not an input, and what comes before it; null if that cannot be determined from the text alone. */
function firstMoving(plan: Plan, template: string): { moving: string; before: Before[] } | null {
  const before: Before[] = [];
  for (let at = 0; ;) {
    const next = template.slice(at).search(/\{[{%]/);
    if (next === -1) return null;
    if (next > 0) before.push({ words: template.slice(at, at + next) });
    PLACE.lastIndex = at + next;
    const match = PLACE.exec(template);
    const id = match?.[1] ?? match?.[2] ?? match?.[3];
    const node = plan.nodes.find((each) => each.id === id);
    if (!match || !node) return null;
    if (hasTrait(node, "given", "value")) {
      if (match[4] !== undefined) return null;
      before.push({ input: node.id });
      at = PLACE.lastIndex;
    } else {
      return match[4] !== undefined && !hasTrait(node, "text", "model") ? null : { moving: node.id, before };
    }
  }
}
