import type { IncomingMessage } from "node:http";
import { Problem, ValidationProblem, invalid } from "../domain/errors.ts";
import { checkJsonShape, findForbidden } from "./json-guard.ts";

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
  const bytes = await readBytes(req, options.limit);
  if (bytes.length === 0) return { value: undefined, bytes };
  const value = parse(bytes);
  const issue = findForbidden(value, bytes, options.looseTop ?? false);
  if (issue) throw new ValidationProblem([issue]);
  return { value, bytes };
}

/** Reads a form-encoded body (a few short members, so its limit is small). Throws 413 and 415 as `readJson` does. */
export async function readForm(req: IncomingMessage, limit: number): Promise<URLSearchParams> {
  checkEncoding(req);
  checkContentType(req, (type) => type === "application/x-www-form-urlencoded", "application/x-www-form-urlencoded");
  return new URLSearchParams((await readBytes(req, limit)).toString("utf8"));
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

function checkEncoding(req: IncomingMessage): void {
  const encoding = req.headers["content-encoding"];
  if (encoding !== undefined && encoding.trim().toLowerCase() !== "identity") {
    throw new Problem("unsupported_media_type", "A content encoding is not supported; send the body as it is.");
  }
}

function checkContentType(req: IncomingMessage, accepts: (type: string) => boolean, wanted: string): void {
  const header = req.headers["content-type"] ?? "";
  const type = (header.split(";", 1)[0] ?? "").trim().toLowerCase();
  const charset = /;\s*charset="?([^\s;"]+)"?/i.exec(header)?.[1]?.toLowerCase() ?? "utf-8";
  if (!accepts(type)) throw new Problem("unsupported_media_type", `The content type must be ${wanted}.`);
  if (charset !== "utf-8" && charset !== "utf8")
    throw new Problem("unsupported_media_type", "The charset must be UTF-8.");
}

async function readBytes(req: IncomingMessage, limit: number): Promise<Buffer> {
  const tooLarge = (): Problem =>
    new Problem("payload_too_large", `The body is longer than ${limit} bytes.`, { extra: { limit_bytes: limit } });
  if (Number(req.headers["content-length"] ?? 0) > limit) throw tooLarge();
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    // The request is not destroyed on the way out: its socket still has to carry the answer. Node discards the rest.
    for await (const chunk of req.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > limit) throw tooLarge();
      chunks.push(chunk);
    }
  } catch (error) {
    if (error instanceof Problem) throw error;
    throw new Problem("bad_request", "The request ended before its body did.", { cause: error });
  }
  return Buffer.concat(chunks, size);
}

function parse(bytes: Buffer): unknown {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw invalid(["body"], "The body is not valid UTF-8", "json_invalid");
  }
  const problem = checkJsonShape(bytes);
  if (problem) throw invalid(["body"], problem, "json_too_complex");
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
