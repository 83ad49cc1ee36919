import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { isUtf8 } from "node:buffer";
import { Problem, ValidationProblem, invalid, tooLarge } from "../../domain/errors.ts";
import { parseExactJson, parseExactJsonBut } from "../../domain/exact-json.ts";
import type { ExactNumbers } from "../../domain/exact-json.ts";
import { JsonShape, MAX_JSON_VALUES, findForbidden } from "./json-guard.ts";
import { JsonFault, parseJson } from "../../platform/json/parse-json.ts";
import { nextSlice } from "../../platform/slices.ts";
import type { RequestContext } from "./operation.ts";

/** From this length on (bytes), parsing a body yields to other requests after each chunk. */
const LONG_BODY_BYTES = 256 * 1024;

export interface ReadJsonOptions {
  /** Longest body, in bytes. */
  readonly limit: number;
  /** Most members and items in all. */
  readonly maxValues?: number;
  /** Leaves a `__proto__` member of the outermost object where it is, for operations that never refuse unknown members. */
  readonly looseTop?: boolean;
  /** Numbers that reading would change are texts with the same digits. */
  readonly exactNumbers?: ExactNumbers;
}

export interface JsonBody {
  /** undefined where there was no body. */
  readonly value: unknown;
  readonly bytes: Buffer;
}

/**
 * Reads a JSON body. Throws a Problem: 413 over the limit, 415 for another content type, charset or any content
 * encoding (a compressed body could unfold to any size), 422 at `["body"]` for what is not JSON or is too deep or too wide.
 */
export async function readJson(req: IncomingMessage, options: ReadJsonOptions): Promise<JsonBody> {
  if (!hasBody(req)) return { value: undefined, bytes: Buffer.alloc(0) };
  checkEncoding(req);
  checkContentType(
    req,
    (type) => type === "application/json" || /^application\/[a-z0-9.+-]+\+json$/.test(type),
    "application/json",
  );
  const shape = new JsonShape(options.maxValues ?? MAX_JSON_VALUES);
  const bytes = await readBytes(req, options.limit, (chunk) => shape.read(chunk));
  if (bytes.length === 0) return { value: undefined, bytes };
  if (!isUtf8(bytes)) throw invalid(["body"], "The body is not valid UTF-8", "json_invalid");
  if (shape.problem !== null) throw invalid(["body"], shape.problem, "json_too_complex");
  const value = await parse(bytes, shape.mayBeInexact ? (options.exactNumbers ?? false) : false);
  const issue = await findForbidden(value, bytes, options.looseTop ?? false);
  if (issue) throw new ValidationProblem([issue]);
  return { value, bytes };
}

async function parse(bytes: Buffer, exactNumbers: ExactNumbers): Promise<unknown> {
  try {
    const exact = typeof exactNumbers === "object" ? parseExactJsonBut(exactNumbers.but) : parseExactJson;
    return await parseJson(bytes, exactNumbers === false ? JSON.parse : exact);
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error;
    const place = error.position === undefined ? [] : [error.position];
    throw invalid(["body", ...place], "The body is not valid JSON", "json_invalid");
  }
}

/** Throws 415 unless the body is declared as form-encoded. */
export function checkForm(req: IncomingMessage): void {
  checkEncoding(req);
  checkContentType(req, (type) => type === "application/x-www-form-urlencoded", "application/x-www-form-urlencoded");
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
    throw new Problem("unsupported_media_type", "A content encoding is not supported; send the body as it is.");
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

/** Reads a body as it is. Throws 413 over `limit` bytes. */
export async function readBytes(
  req: IncomingMessage,
  limit: number,
  look: (chunk: Buffer) => void = () => undefined,
): Promise<Buffer> {
  if (Number(req.headers["content-length"] ?? 0) > limit) throw tooLarge("body", limit);
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    // The request is not destroyed: its socket still has to carry the answer. Node discards the rest.
    for await (const chunk of req.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > limit) throw tooLarge("body", limit);
      look(chunk);
      chunks.push(chunk);
      // A socket with much data would otherwise keep the event loop to itself, a megabyte at a time.
      if (size > LONG_BODY_BYTES) await nextSlice();
    }
  } catch (error) {
    if (error instanceof Problem) throw error;
    throw new Problem("bad_request", "The request ended before its body did.", { cause: error });
  }
  return Buffer.concat(chunks, size);
}

/** The same for a request whose body is not JSON; its digest is noted for a repeated request. */
export async function readBody(ctx: RequestContext, limit: number): Promise<Buffer> {
  const bytes = await readBytes(ctx.req, limit);
  ctx.state.bodyDigest = createHash("sha256").update(bytes).digest("hex");
  return bytes;
}
