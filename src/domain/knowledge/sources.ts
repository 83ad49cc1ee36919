import type { Citation } from "./citations.ts";

/** Search results for a model: numbered chunks, and their sources. */
export interface FoundSources {
  readonly text: string;
  readonly citations: readonly Citation[];
}

/** Instructions for a model that receives sources. */
export const CITE_SOURCES =
  "Passages of sources are numbered like [1]. Where a statement of yours rests on one, put its number behind it, like [1] or [2][3].";

/** Renumbers a search's chunks to follow the ones that the model already has. */
export function numberedFrom({ text, citations }: FoundSources, before: number): FoundSources {
  if (before === 0) return { text, citations };
  let numbered = "";
  let rest = text;
  // Only the chunks' headings are renumbered, in order, so that the chunks' text stays as it is.
  for (const { index, resource_path } of citations) {
    const heading = `[${index}] ${resource_path}`;
    const at = rest.indexOf(heading);
    if (at === -1) continue;
    numbered += `${rest.slice(0, at)}[${index + before}] ${resource_path}`;
    rest = rest.slice(at + heading.length);
  }
  return { text: numbered + rest, citations: citations.map((each) => ({ ...each, index: each.index + before })) };
}

/** The sources that an answer cites by number, in the order of the numbers. */
export function citedIn(answer: string, sources: readonly Citation[]): Citation[] {
  const numbers = new Set<number>();
  for (const [, list = ""] of answer.matchAll(/\[(\d{1,4}(?:\s*[,;]\s*\d{1,4}){0,20})\]/g))
    for (const number of list.split(/[,;]/)) numbers.add(Number(number));
  return sources.filter(({ index }) => numbers.has(index));
}
