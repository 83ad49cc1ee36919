import type { ChatSource } from "../chat/turn.tsx";

/** A citation of a run. */
export interface Cited extends ChatSource {
  /** The passage as a member of the address; null if the citation names no document. See `passageIn`. */
  readonly passage: string | null;
}

/** A passage of a document. */
export interface Passage {
  readonly knowledgeBaseId: string;
  readonly resourceId: string;
  /** UTF-16 units of the extracted text. */
  readonly from: number;
  readonly to: number;
  readonly page: number | null;
}

/** Citations shown; a search returns fewer. */
const MOST = 100;

/** The citations of a run. They may come from code of a flow, so each member is checked. */
export function citedIn(citations: readonly unknown[]): Cited[] {
  const found = new Map<number, Cited>();
  for (const [at, each] of citations.slice(0, MOST).entries()) {
    if (typeof each !== "object" || each === null) continue;
    const { index, resource_path, page_start, page_end } = each as Record<string, unknown>;
    const number = typeof index === "number" ? index : at + 1;
    const title = typeof resource_path === "string" ? resource_path : "document";
    if (!found.has(number))
      found.set(number, { number, title, place: pagesOf(page_start, page_end), passage: passageOf(each) });
  }
  return [...found.values()];
}

function pagesOf(first: unknown, last: unknown): string {
  if (typeof first !== "number") return "";
  return typeof last !== "number" || last === first ? `page ${first}` : `pages ${first}-${last}`;
}

function passageOf(citation: object): string | null {
  const { knowledge_base_id, resource_id, char_start, char_end, page_start } = citation as Record<string, unknown>;
  if (typeof knowledge_base_id !== "string" || typeof resource_id !== "string") return null;
  const numbers = [char_start, char_end, page_start].map((each) => (typeof each === "number" ? String(each) : ""));
  return [knowledge_base_id, resource_id, ...numbers].join("_");
}

/** The passage in a member of the address. */
export function passageIn(text: string): Passage {
  const [knowledgeBaseId = "", resourceId = "", ...rest] = text.split("_");
  const [from, to, page] = rest.map((each) => (/^\d{1,9}$/.test(each) ? Number(each) : null));
  return { knowledgeBaseId, resourceId, from: from ?? 0, to: to ?? 0, page: page ?? null };
}
