import type { Scope } from "../../src/domain/flow/scope.ts";
import type { Json } from "../../src/domain/json.ts";
import type { Citation } from "../../src/domain/knowledge/citations.ts";
import { numberedFrom } from "../../src/domain/knowledge/sources.ts";
import type { FoundSources } from "../../src/domain/knowledge/sources.ts";

/** A node's scope, with the passages of all searches numbered consecutively: each number is one source. */
export function numberSources(
  scope: Scope,
  knowledge: readonly string[],
): { readonly scope: Scope; readonly sources: readonly Citation[] } {
  const sources: Citation[] = [];
  const nodes: Record<string, Json> = { ...scope.nodes };
  for (const id of knowledge) {
    const value = nodes[id] as unknown as FoundSources | undefined;
    // The default output of a failed search has no passages.
    if (!Array.isArray(value?.citations) || typeof value.text !== "string") continue;
    const numbered = numberedFrom(value, sources.length);
    nodes[id] = { ...value, ...numbered } as unknown as Json;
    sources.push(...numbered.citations);
  }
  return { scope: { ...scope, nodes }, sources };
}

/** All texts of an answer: the text itself, or the strings in its JSON, since JSON lists look like numbers in brackets. */
export function textsOf(text: string, json: Json): string {
  return json === null ? text : textsIn(json).join("\n");
}

function textsIn(value: Json): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}
