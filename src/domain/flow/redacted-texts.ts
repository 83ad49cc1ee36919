import type { Json } from "../json.ts";
import { redact, REDACTED } from "./redact.ts";
import type { RedactPath } from "./redact.ts";

/** Texts looked for in one message, and the longest part of each (characters): errors are no longer. */
const MAX_TEXTS = 1000;
const MAX_CHARS = 4096;
/** Shorter ones are masked only where they stand as words of their own. */
const MIN_CHARS = 4;

/** What the nodes of a run can read, as far as it is at hand. */
export interface ReadValues {
  readonly inputs: Readonly<Record<string, Json>>;
  readonly nodes: Readonly<Record<string, Json>>;
}

/** A message without the values that the paths mask: it may quote what it was made of. What was computed from them is not found. */
export function maskQuoted(message: string, paths: readonly RedactPath[], { inputs, nodes }: ReadValues): string {
  if (paths.length === 0) return message;
  const texts = new Set<string>();
  for (const [id, value] of Object.entries(inputs)) collect(value, redact(value, paths, ["inputs", id]), texts);
  for (const [id, value] of Object.entries(nodes)) collect(value, redact(value, paths, ["nodes", id, "output"]), texts);
  const forms = new Set([...texts].flatMap((text) => [text, JSON.stringify(text).slice(1, -1)]));
  // The longest first: a short one may be a part of it.
  let masked = message;
  for (const form of [...forms].toSorted((one, other) => other.length - one.length)) masked = without(masked, form);
  return masked;
}

/** Adds the texts of a value that are masked in its copy. */
function collect(value: Json, copy: Json, texts: Set<string>): void {
  if (value === copy || texts.size >= MAX_TEXTS) return;
  const isMasked = copy === REDACTED;
  if (typeof value === "string" || typeof value === "number") {
    const text = String(value).trim().slice(0, MAX_CHARS);
    if (text !== "") texts.add(text);
  } else if (typeof value === "object" && value !== null) {
    for (const [key, item] of Object.entries(value as Readonly<Record<string, Json>>))
      collect(item, isMasked ? REDACTED : ((copy as Readonly<Record<string, Json>>)[key] ?? null), texts);
  }
}

function without(message: string, form: string): string {
  let clean = "";
  let done = 0;
  for (let at = message.indexOf(form); at !== -1; at = message.indexOf(form, at + 1)) {
    const end = at + form.length;
    if (at < done || (form.length < MIN_CHARS && !(standsAlone(message[at - 1]) && standsAlone(message[end]))))
      continue;
    clean += message.slice(done, at) + REDACTED;
    done = end;
  }
  return withoutBeginning(clean + message.slice(done), form);
}

function standsAlone(neighbour: string | undefined): boolean {
  return neighbour === undefined || !/[\p{L}\p{N}]/u.test(neighbour);
}

/** A cut message may end with the beginning of a value. */
function withoutBeginning(message: string, form: string): string {
  if (!message.endsWith("…")) return message;
  const body = message.slice(0, -1);
  for (let at = Math.max(0, body.length - form.length + 1); at <= body.length - MIN_CHARS; at += 1)
    if (body[at] === form[0] && form.startsWith(body.slice(at))) return `${body.slice(0, at)}${REDACTED}…`;
  return message;
}
