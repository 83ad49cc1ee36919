import type { IncomingMessage } from "node:http";
import { setImmediate as yieldToEventLoop } from "node:timers/promises";
import { Problem, ValidationProblem, invalid, tooLarge } from "../../domain/errors.ts";
import { JsonShape, findForbidden } from "./json-guard.ts";

/** From this length on, reading a body yields to the event loop between steps (bytes). */
const LONG_BODY_BYTES = 256 * 1024;

export interface ReadJsonOptions {
  /** Longest body, in bytes. */
  readonly limit: number;
  /** Leaves a `__proto__` member of the outermost object where it is, for operations that never refuse unknown members. */
  readonly looseTop?: boolean;
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
  const shape = new JsonShape();
  const bytes = await readBytes(req, options.limit, (chunk) => shape.read(chunk));
  if (bytes.length === 0) return { value: undefined, bytes };
  const letOthers = async (): Promise<void> => {
    if (bytes.length >= LONG_BODY_BYTES) await yieldToEventLoop();
  };
  const text = decode(bytes);
  if (shape.problem !== null) throw invalid(["body"], shape.problem, "json_too_complex");
  await letOthers();
  const value = parse(text);
  await letOthers();
  const issue = findForbidden(value, bytes, options.looseTop ?? false);
  if (issue) throw new ValidationProblem([issue]);
  await letOthers();
  return { value, bytes };
}

/** Throws 415 unless the body is declared as form-encoded. */
export function checkForm(req: IncomingMessage): void {
  checkEncoding(req);
  checkContentType(req, (type) => type === "application/x-www-form-urlencoded", "application/x-www-form-urlencoded");
}

/** What the body is declared as, without parameters and in lower case. */
export function mediaType(req: IncomingMessage): string {
  return ((req.headers["content-type"] ?? "").split(";", 1)[0] ?? "").trim().toLowerCase();
}

/** Whether the body is declared as multipart/form-data. */
export function isMultipart(req: IncomingMessage): boolean {
  return mediaType(req) === "multipart/form-data";
}

/** Throws 415 unless the body is declared as multipart/form-data with a boundary. */
export function checkMultipart(req: IncomingMessage): void {
  checkEncoding(req);
  checkContentType(req, (type) => type === "multipart/form-data", "multipart/form-data");
  if (!/;\s*boundary=("[^"]{1,200}"|[^\s;"]{1,200})/i.test(req.headers["content-type"] ?? "")) {
    throw new Problem("unsupported_media_type", "The multipart content type has no boundary.");
  }
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
    }
  } catch (error) {
    if (error instanceof Problem) throw error;
    throw new Problem("bad_request", "The request ended before its body did.", { cause: error });
  }
  return Buffer.concat(chunks, size);
}

function decode(bytes: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw invalid(["body"], "The body is not valid UTF-8", "json_invalid");
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    // The parser quotes the text around the mistake; it is the client's own, but may be long or secret.
    const position = /at position (\d+)/.exec((error as Error).message)?.[1];
    throw invalid(
      ["body", ...(position === undefined ? [] : [Number(position)])],
      "The body is not valid JSON",
      "json_invalid",
    );
  }
}
