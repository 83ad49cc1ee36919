import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { isUtf8 } from "node:buffer";
import { Problem, ValidationProblem, invalid, tooLarge } from "../../domain/errors.ts";
import { parseBoth } from "../../domain/exact-json.ts";
import { isObject } from "../../domain/json.ts";
import { JsonShape, MAX_JSON_VALUES, findForbidden } from "./json-guard.ts";
import { JsonFault, parseJson } from "../../platform/json/parse-json.ts";
import { nextSlice } from "../../platform/slices.ts";
import type { RequestContext } from "./operation.ts";

/** From this length on (bytes), parsing a body yields to other requests after each chunk. */
const LONG_BODY_BYTES = 256 * 1024;

export interface ReadJsonOptions {
  /** Longest body, in bytes. */
  readonly limit: number;
  /** Most fields and items in total. */
  readonly maxValues?: number;
  /** Keeps a `__proto__` field of the outermost object, for operations that never refuse unknown fields. */
  readonly looseTop?: boolean;
  /** The path to an object whose fields are texts: a number directly within it stays a number, so that it is refused whatever its size. */
  readonly textsIn?: readonly string[];
  /** The content types that a 415 names, if types other than JSON are read elsewhere. */
  readonly wanted?: string;
}

export interface JsonBody {
  /** Undefined if there was no body. A number that reading would change becomes a string with the same digits. */
  readonly value: unknown;
  /** The same value with rounded numbers, if it differs. */
  readonly rounded?: unknown;
  readonly bytes: Buffer;
}

/**
 * Reads a JSON body. Throws a Problem: 413 over the limit, 415 for another content type, charset or any content encoding (a compressed body
 * could unfold to any size), 422 at `["body"]` for a body that is not JSON or is too deep or too wide.
 */
export async function readJson(req: IncomingMessage, options: ReadJsonOptions): Promise<JsonBody> {
  if (!hasBody(req)) return { value: undefined, bytes: Buffer.alloc(0) };
  checkEncoding(req);
  checkContentType(
    req,
    (type) => type === "application/json" || /^application\/[a-z0-9.+-]+\+json$/.test(type),
    options.wanted ?? "application/json",
  );
  const shape = new JsonShape(options.maxValues ?? MAX_JSON_VALUES);
  const bytes = await readBytes(req, options.limit, (chunk) => shape.read(chunk));
  if (bytes.length === 0) return { value: undefined, bytes };
  if (!isUtf8(bytes)) throw invalid(["body"], "The body is not valid UTF-8", "json_invalid");
  if (shape.problem !== null) throw invalid(["body"], shape.problem, "json_too_complex");
  const read = shape.mayBeInexact
    ? await parseExact(bytes, options.textsIn)
    : { value: await parse(bytes, JSON.parse) };
  const issue = await findForbidden(read.value, bytes, options.looseTop ?? false);
  if (issue) throw new ValidationProblem([issue]);
  return { ...read, bytes };
}

async function parseExact(bytes: Buffer, textsIn?: readonly string[]): Promise<Omit<JsonBody, "bytes">> {
  let differs = false;
  const value = await parse(bytes, (text) => {
    const { plain, exact } = parseBoth(text);
    differs ||= exact !== plain;
    return exact;
  });
  if (!differs) return { value };
  const rounded = await parse(bytes, (text) => JSON.parse(text, finite) as unknown);
  const [texts, numbers] = [value, rounded].map((each) => textsIn && memberAt(each, textsIn));
  if (isObject(texts) && isObject(numbers))
    for (const [name, number] of Object.entries(numbers))
      if (typeof number === "number") (texts as Record<string, unknown>)[name] = number;
  return { value, rounded };
}

/** Schemas for JSON refuse infinite numbers, because JSON has none. */
function finite(_name: string, value: unknown): unknown {
  if (typeof value !== "number" || Number.isFinite(value)) return value;
  return value < 0 ? -Number.MAX_VALUE : Number.MAX_VALUE;
}

function memberAt(value: unknown, way: readonly string[]): unknown {
  return way.reduce((at, name) => (isObject(at) && Object.hasOwn(at, name) ? at[name] : undefined), value);
}

async function parse(bytes: Buffer, parseText: (text: string) => unknown): Promise<unknown> {
  try {
    return await parseJson(bytes, parseText);
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error;
    const place = error.position === undefined ? [] : [error.position];
    throw invalid(["body", ...place], "The body is not valid JSON", "json_invalid");
  }
}

/** Reads a form-encoded body; null if it is not UTF-8. Throws 413 and 415 like `readJson`. */
export async function readForm(req: IncomingMessage, limit: number): Promise<URLSearchParams | null> {
  checkEncoding(req);
  checkContentType(req, (type) => type === "application/x-www-form-urlencoded", "application/x-www-form-urlencoded");
  const bytes = await readBytes(req, limit);
  return isUtf8(bytes) ? parseForm(bytes.toString("utf8")) : null;
}

/** The fields of a form; null if what its percent encoding stands for is not UTF-8, which URLSearchParams would replace. */
export function parseForm(text: string): URLSearchParams | null {
  return isUtf8(unescaped(text)) ? new URLSearchParams(text) : null;
}

const PERCENT = 0x25;

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

/** The declared media type of the body, without parameters and in lower case. */
export function mediaType(req: IncomingMessage): string {
  return ((req.headers["content-type"] ?? "").split(";", 1)[0] ?? "").trim().toLowerCase();
}

/** Whether the body is declared as multipart/form-data. */
export function isMultipart(req: IncomingMessage): boolean {
  return mediaType(req) === "multipart/form-data";
}

/** The boundary of a multipart body. Throws 415 unless the body is declared as multipart/form-data with one. */
export function boundaryOf(req: IncomingMessage): string {
  checkEncoding(req);
  checkContentType(req, (type) => type === "multipart/form-data", "multipart/form-data");
  const found = /;\s*boundary=(?:"([^"]{1,200})"|([^\s;"]{1,200}))/i.exec(req.headers["content-type"] ?? "");
  const boundary = found?.[1] ?? found?.[2];
  if (boundary === undefined)
    throw new Problem("unsupported_media_type", "The multipart content type has no boundary.");
  return boundary;
}

function hasBody(req: IncomingMessage): boolean {
  return req.headers["transfer-encoding"] !== undefined || Number(req.headers["content-length"] ?? 0) > 0;
}

/** Throws 415 for a compressed body. */
export function checkEncoding(req: IncomingMessage): void {
  const encoding = req.headers["content-encoding"];
  if (encoding !== undefined && encoding.trim().toLowerCase() !== "identity") {
    throw new Problem("unsupported_media_type", "This content encoding is not supported; send the body uncompressed.");
  }
}

function checkContentType(req: IncomingMessage, accepts: (type: string) => boolean, wanted: string): void {
  const header = req.headers["content-type"] ?? "";
  const type = mediaType(req);
  const charset = /;\s*charset="?([^\s;"]+)"?/i.exec(header)?.[1]?.toLowerCase() ?? "utf-8";
  if (!accepts(type)) throw new Problem("unsupported_media_type", `The content type must be ${wanted}.`);
  if (charset !== "utf-8" && charset !== "utf8")
    throw new Problem("unsupported_media_type", "The charset must be UTF-8.");
}

/** Reads a body unchanged. Throws 413 over `limit` bytes. */
export async function readBytes(
  req: IncomingMessage,
  limit: number,
  look: (chunk: Buffer) => void = () => undefined,
): Promise<Buffer> {
  if (Number(req.headers["content-length"] ?? 0) > limit) throw tooLarge("body", limit);
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    // The request is not destroyed, because its socket still has to carry the response. Node discards the rest.
    for await (const chunk of req.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > limit) throw tooLarge("body", limit);
      look(chunk);
      chunks.push(chunk);
      // Otherwise a socket with much data would occupy the event loop, a megabyte at a time.
      if (size > LONG_BODY_BYTES) await nextSlice();
    }
  } catch (error) {
    if (error instanceof Problem) throw error;
    throw new Problem("bad_request", "The request ended before its body was complete.", { cause: error });
  }
  return Buffer.concat(chunks, size);
}

/** Reads a body that is not JSON; its digest is recorded to compare a repeated request. */
export async function readBody(ctx: RequestContext, limit: number): Promise<Buffer> {
  const bytes = await readBytes(ctx.req, limit);
  ctx.state.bodyDigest = createHash("sha256").update(bytes).digest("hex");
  return bytes;
}
