import { createMarks, findAll, type Budget } from "../find-text.ts";
import type { Json } from "../json.ts";
import { redact, REDACTED, type RedactPath } from "./redact.ts";

/** Most texts to look for in one message, and how much of each to look for (characters), because errors are no longer than that. */
const MAX_TEXTS = 10_000;
const MAX_CHARS = 4096;
/** Limits the search in one message to a few milliseconds, because it blocks the process. */
const MAX_STEPS = 500_000;
/** Shorter texts are masked only as separate words. */
const MIN_CHARS = 4;

/** The values that a run's nodes can read, as far as they are loaded. */
export interface ReadValues {
  readonly inputs: Readonly<Record<string, Json>>;
  readonly nodes: Readonly<Record<string, Json>>;
}

/**
 * A message with the masked values removed, since it may quote values it was made from. Values computed from masked values are not found.
 * If the search exceeds its limits, the whole message is masked.
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
  // A shortened message may end with the beginning of a value.
  const cutAt = message.endsWith("…") ? message.length - 1 : undefined;
  for (const form of forms) {
    if (form.length >= MIN_CHARS && !beginnings.has(form.slice(0, MIN_CHARS))) continue;
    // Of a text longer than the message, only the beginning can appear.
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

/** Adds the texts that are in a value but masked in its redacted copy. */
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

/** The starts of all possible values in a text, by which most values are quickly found to be absent. */
function beginningsIn(text: string): ReadonlySet<string> {
  const beginnings = new Set<string>();
  for (let at = 0; at + MIN_CHARS <= text.length; at += 1) beginnings.add(text.slice(at, at + MIN_CHARS));
  return beginnings;
}

function standsAlone(neighbour: string | undefined): boolean {
  return neighbour === undefined || !/[\p{L}\p{N}]/u.test(neighbour);
}
