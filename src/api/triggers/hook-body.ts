import type { IncomingMessage } from "node:http";
import { isUtf8 } from "node:buffer";
import { invalid, ValidationProblem } from "../../domain/errors.ts";
import type { Json } from "../../domain/json.ts";
import { MAX_JSON_VALUES, MAX_WIDE_JSON_VALUES, unstorableIssue } from "../http/json-guard.ts";
import { checkEncoding, mediaType, readBytes, readJson } from "../http/read-json.ts";

const FORM = "application/x-www-form-urlencoded";
const TEXT = /^(?:text\/[\w.+-]+|application\/(?:xml|[\w.+-]+\+xml))$/;
/** The accepted content types, for the sender of another one. */
const WANTED = `application/json, ${FORM}, text/* or XML`;
const PERCENT = 0x25;

/**
 * The body of a request to a trigger: JSON unchanged, the fields of a form, or any text as text. Throws Problems: 413, 415 for any other
 * type, and 422 for a body that is not of its declared type.
 */
export async function readHookBody(req: IncomingMessage, limit: number): Promise<{ bytes: Buffer; body: Json }> {
  const type = mediaType(req);
  if (type !== FORM && !TEXT.test(type)) {
    const options = { limit, maxValues: MAX_WIDE_JSON_VALUES, wanted: WANTED };
    const { value, bytes } = await readJson(req, options);
    return { bytes, body: (value ?? null) as Json };
  }
  checkEncoding(req);
  const bytes = await readBytes(req, limit);
  if (!isUtf8(bytes)) throw invalid(["body"], "The body is not valid UTF-8");
  const text = bytes.toString("utf8");
  return { bytes, body: type === FORM ? fieldsOf(text) : storable(text) };
}

/** A text for each name, or a list for a repeated name. */
function fieldsOf(text: string): Json {
  if (text.split("&", MAX_JSON_VALUES + 1).length > MAX_JSON_VALUES)
    throw invalid(["body"], `A form can have at most ${MAX_JSON_VALUES} fields`);
  if (!isUtf8(unescaped(text))) throw invalid(["body"], "The percent-encoded text of the form is not valid UTF-8");
  const fields = new Map<string, Json>();
  for (const [name, given] of new URLSearchParams(text)) {
    if (name === "__proto__") throw invalid(["body", name], "This field name is not allowed");
    const value = storable(given);
    const before = fields.get(storable(name));
    fields.set(name, before === undefined ? value : [before, value].flat());
  }
  return Object.fromEntries(fields);
}

/** Decodes the percent encoding of a form's bytes. */
function unescaped(text: string): Uint8Array {
  const bytes = Buffer.from(text);
  let length = 0;
  for (let at = 0; at < bytes.length; at++, length++) {
    const digits = bytes[at] === PERCENT ? bytes.toString("latin1", at + 1, at + 3) : "";
    const isEscape = /^[\da-f]{2}$/i.test(digits);
    bytes[length] = isEscape ? Number.parseInt(digits, 16) : (bytes[at] ?? 0);
    if (isEscape) at += 2;
  }
  return bytes.subarray(0, length);
}

/**
 * The text unchanged. The sender gets an error if it cannot be stored, in a form as in JSON, so that nothing is dropped silently. Throws
 * 422.
 */
function storable(text: string): string {
  const issue = unstorableIssue(text, ["body"]);
  if (issue !== null) throw new ValidationProblem([issue]);
  return text;
}
