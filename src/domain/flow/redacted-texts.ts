import { createMarks, findAll } from "../find-text.ts";
import type { Budget } from "../find-text.ts";
import type { Json } from "../json.ts";
import { redact, REDACTED } from "./redact.ts";
import type { RedactPath } from "./redact.ts";

/** Most texts to look for in one message, and the longest part of each (characters): errors are no longer. */
const MAX_TEXTS = 10_000;
const MAX_CHARS = 4096;
/** What the search in one message may cost: a few milliseconds of a process that others need. */
const MAX_STEPS = 500_000;
/** Shorter texts are masked only as words of their own. */
const MIN_CHARS = 4;

/** What the nodes of a run can read, as far as it is loaded. */
export interface ReadValues {
  readonly inputs: Readonly<Record<string, Json>>;
  readonly nodes: Readonly<Record<string, Json>>;
}

/**
 * A message without the values that the paths mask, since it may quote the values it was made of. Values computed
 * from them are not found. If there is more to look for than the limit allows, the whole message is masked.
 */
export function maskQuoted(message: string, paths: readonly RedactPath[], { inputs, nodes }: ReadValues): string {
  if (paths.length === 0) return message;
  const texts = new Set<string>();
  for (const [id, value] of Object.entries(inputs)) collect(value, redact(value, paths, ["inputs", id]), texts);
  for (const [id, value] of Object.entries(nodes)) collect(value, redact(value, paths, ["nodes", id, "output"]), texts);
  if (texts.size > MAX_TEXTS) return REDACTED;
  const forms = new Set([...texts].flatMap((text) => [text, JSON.stringify(text).slice(1, -1)]));
  const beginnings = beginningsIn(message);
  const marks = createMarks(message);
  const budget: Budget = { steps: MAX_STEPS };
  // A cut message may end with the beginning of a value.
  const cutAt = message.endsWith("…") ? message.length - 1 : undefined;
  for (const form of forms) {
    if (form.length >= MIN_CHARS && !beginnings.has(form.slice(0, MIN_CHARS))) continue;
    // A text longer than the message can appear only by its beginning.
    const part = form.slice(0, message.length + 1);
    const standsHere = (start: number, end: number): boolean =>
      form.length >= MIN_CHARS || (standsAlone(message[start - 1]) && standsAlone(message[end]));
    findAll(message, part, (start, end) => standsHere(start, end) && marks.add(start, end), budget);
    if (cutAt !== undefined) {
      const end = message.slice(Math.max(0, cutAt - part.length + 1), cutAt);
      const chars = findAll(end, part, () => undefined, budget);
      if (chars >= MIN_CHARS) marks.add(cutAt - chars, cutAt);
    }
    if (budget.steps <= 0) return REDACTED;
  }
  return marks.masked(REDACTED);
}

/** Adds the texts of a value that are masked in its copy. */
function collect(value: Json, copy: Json, texts: Set<string>): void {
  if (value === copy || texts.size > MAX_TEXTS) return;
  const isMasked = copy === REDACTED;
  if (typeof value === "string" || typeof value === "number") {
    const text = String(value).trim().slice(0, MAX_CHARS);
    if (text !== "") texts.add(text);
  } else if (typeof value === "object" && value !== null) {
    for (const [key, item] of Object.entries(value as Readonly<Record<string, Json>>))
      collect(item, isMasked ? REDACTED : ((copy as Readonly<Record<string, Json>>)[key] ?? null), texts);
  }
}

/** The possible beginnings of values in a text: most values are found to be missing by their first characters. */
function beginningsIn(text: string): ReadonlySet<string> {
  const beginnings = new Set<string>();
  for (let at = 0; at + MIN_CHARS <= text.length; at += 1) beginnings.add(text.slice(at, at + MIN_CHARS));
  return beginnings;
}

function standsAlone(neighbour: string | undefined): boolean {
  return neighbour === undefined || !/[\p{L}\p{N}]/u.test(neighbour);
}
