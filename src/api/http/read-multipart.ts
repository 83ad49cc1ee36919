import { createHash, type Hash } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { PassThrough, type Transform } from "node:stream";
import * as formidable from "formidable";
import { z } from "zod";
import { Problem, ValidationProblem, invalid, tooLarge, type ValidationIssue } from "../../domain/errors.ts";
import { exactJsonText } from "../../domain/exact-json.ts";
import { checkFilename, decoded, notWhole, readDisposition, utf8, type Part } from "./multipart-part.ts";
import type { RequestContext } from "./operation.ts";
import { JsonShape, MAX_JSON_VALUES, findForbiddenAtOnce } from "./json-guard.ts";
import { boundaryOf } from "./read-json.ts";
import { readTexts } from "./validate.ts";

/** Most text parts, including ignored ones. */
const MAX_FIELDS = 50;
/** Most bytes of all declared fields together. */
const MAX_FIELDS_BYTES = 1024 * 1024;
/** Bytes that a body may have in addition to its files: boundaries, headers and fields. */
const MAX_ENVELOPE_BYTES = 4 * 1024 * 1024;
/** Most bytes of all headers of all parts together. */
const MAX_HEADERS_BYTES = 512 * 1024;

/** A file of a multipart body. */
export interface UploadedFile {
  /** The name of the form's field. */
  readonly field: string;
  /** The file name that the client sent, without folders; it is never used as a path. */
  readonly filename: string;
  /** The content type that the part declares, with its parameters. */
  readonly declaredType: string;
  readonly content: AsyncIterable<Uint8Array>;
}

/** Limits of one multipart body. */
export interface MultipartLimits {
  /** Longest file, in bytes. */
  readonly maxFileBytes: number;
  /** Most bytes of all files together; default the same. */
  readonly maxTotalBytes?: number;
  /** Most files; default 1. */
  readonly maxFiles?: number;
}

/** The fields of a form that are not files. */
type Fields<S extends z.ZodObject> = {
  [K in keyof z.output<S> as Exclude<z.output<S>[K], undefined> extends File | File[] ? never : K]: z.output<S>[K];
};

/** What a multipart body held. */
export interface MultipartForm<S extends z.ZodObject, T> {
  /** Validated and converted like query parameters. */
  readonly fields: Fields<S>;
  /** The results of `take`, in the order of the body. */
  readonly files: readonly T[];
}

/** Consumes the files while they arrive. */
export interface FileHandling<T> {
  /** Called with each file as a stream, which it must consume or throw. */
  take(file: UploadedFile): Promise<T>;
  /** Called with the result of each file when the request is rejected later. */
  undo(made: T): Promise<void>;
}

/**
 * Reads a multipart body by its declared form: fields of type `z.file()` are files, which are streamed to `take` and never held in memory;
 * a list of them (`z.array(z.file())`) may occur repeatedly. The others are text fields. A plain form ignores undeclared parts, a strict
 * one refuses them. Resolves once the whole body was valid. Throws a Problem: 415 for another content type, 413 over a limit, 422 for an
 * incomplete body, a missing or unnamed file, or fields that violate the form.
 */
export async function readMultipart<S extends z.ZodObject, T>(
  ctx: RequestContext,
  form: S,
  limits: MultipartLimits,
  handling: FileHandling<T>,
): Promise<MultipartForm<S, T>> {
  const { req } = ctx;
  const boundary = boundaryOf(req);
  const { maxFileBytes, maxTotalBytes = maxFileBytes, maxFiles = 1 } = limits;
  const maxBodyBytes = maxTotalBytes + MAX_ENVELOPE_BYTES;
  if (Number(req.headers["content-length"] ?? 0) > maxBodyBytes) throw tooLarge("file", maxTotalBytes);
  const parser = new MultipartParser();
  parser.initWithBoundary(boundary);
  const parts = createPartReader(form, { maxFileBytes, maxTotalBytes, maxFiles }, handling.take);
  parts.failed.catch((error: Error) => parser.destroy(error));
  let received = 0;
  req.on("data", ({ length }: Buffer) => {
    if ((received += length) > maxBodyBytes) parts.fail(tooLarge("file", maxTotalBytes));
  });
  whenBrokenOff(req, () => parts.fail(new Problem("bad_request", "The request ended before its body was complete.")));
  try {
    for await (const token of req.pipe(parser)) {
      const room = parts.read(token as Token);
      if (room) await room;
    }
    const files = await Promise.all(parts.taken);
    const fields = parts.fields<S>();
    ctx.state.bodyDigest = parts.digest();
    return { fields, files };
  } catch (error) {
    parts.giveUp();
    // The rest of the body is read and discarded, so that the response can be sent.
    req.unpipe(parser);
    req.resume();
    await Promise.all(parts.taken.map((work) => work.then(handling.undo, () => undefined)));
    throw error instanceof Error && "httpCode" in error ? notWhole() : error;
  }
}

/** A form field whose text is JSON for `schema`, under the rules of a JSON body. */
export function jsonField<S extends z.ZodType>(schema: S) {
  const parsed = z.string().transform((text, context): unknown => {
    try {
      // A `__proto__` field would replace a prototype when it is assigned, so it is dropped here.
      return JSON.parse(exactJsonText(text), (key, value: unknown) => (key === "__proto__" ? undefined : value));
    } catch {
      context.addIssue({ code: "custom", message: "The field is not valid JSON" });
      return z.NEVER;
    }
  });
  return z.string().superRefine(refuseUnstorable).pipe(parsed).pipe(schema);
}

/** Finds values that no part of Millrace accepts. Invalid JSON is left to the parser. */
function refuseUnstorable(text: string, context: z.RefinementCtx): void {
  const shape = new JsonShape(MAX_JSON_VALUES);
  shape.read(Buffer.from(text));
  if (shape.problem !== null) {
    context.addIssue({ code: "custom", message: shape.problem.replace("The body", "The field") });
    return;
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return;
  }
  const found = findForbiddenAtOnce(value);
  if (found !== null) context.addIssue({ code: "custom", message: found.msg, path: [...found.loc] });
}

/** Parts of a body that formidable's parser finds, in order: some bytes, or an end. */
interface Token {
  readonly name: string;
  readonly buffer?: Buffer;
  readonly start?: number;
  readonly end?: number;
}

// The package's types omit its parser. Its reader of whole forms is not used because, among other things, it finds file names in quadratic
// time.
const { MultipartParser } = formidable as unknown as {
  readonly MultipartParser: new () => Transform & { initWithBoundary(boundary: string): void };
};

/** Decides which parts of one body count, and where their contents go. */
function createPartReader<T>(
  form: z.ZodObject,
  { maxFiles, maxFileBytes, maxTotalBytes }: Required<MultipartLimits>,
  take: (file: UploadedFile) => Promise<T>,
) {
  const fileFields = new Map(Object.entries(form.shape).flatMap(([name, schema]) => fileFieldOf(name, schema)));
  const isStrict = form.def.catchall instanceof z.ZodNever;
  const taken: Array<Promise<T>> = [];
  /** The field names of the files so far. */
  const files: string[] = [];
  const streams: PassThrough[] = [];
  const texts = new Map<string, string[]>();
  const contents: Array<{ name: string; filename: string | undefined; type: string | undefined; hash: Hash }> = [];
  const sizes = { headers: 0, fields: 0, files: 0 };
  let fieldCount = 0;
  let headers = new Map<string, string>();
  let header = { headerField: "", headerValue: "" };
  let part: Part = {};
  let fail: (error: unknown) => void = () => undefined;
  const failed = new Promise<never>((_, reject) => {
    fail = reject;
  });

  function read({ name, buffer, start, end }: Token): Promise<unknown> | undefined {
    switch (name) {
      case "partBegin":
        headers = new Map();
        return undefined;
      case "headerField":
      case "headerValue": {
        const text = buffer?.toString("latin1", start, end) ?? "";
        if ((sizes.headers += text.length) > MAX_HEADERS_BYTES)
          throw invalid(["body"], `The headers of the parts are longer than ${MAX_HEADERS_BYTES} bytes`, "too_long");
        header[name] += text;
        return undefined;
      }
      case "headerEnd":
        headers.set(header.headerField.toLowerCase(), header.headerValue);
        header = { headerField: "", headerValue: "" };
        return undefined;
      case "headersEnd":
        part = open();
        return undefined;
      case "partData":
        return buffer && part.write?.(buffer.subarray(start, end));
      case "partEnd":
        part.end?.();
        part = {};
        return undefined;
      default:
        return undefined;
    }
  }

  /** Creates the sink for a part whose headers have arrived. Throws a Problem. */
  function open(): Part {
    const { name, filename } = readDisposition(headers.get("content-disposition"));
    const type = headers.get("content-type");
    const isFile = fileFields.has(name) || filename !== undefined;
    if (!isFile && ++fieldCount > MAX_FIELDS)
      throw invalid(["body"], `The body has more than ${MAX_FIELDS} fields`, "too_long");
    if (!Object.hasOwn(form.shape, name) || (isFile && !fileFields.has(name))) {
      if (isStrict) texts.set(name, [""]);
      if (isFile && ++fieldCount > MAX_FIELDS + maxFiles)
        throw invalid(["body"], `The body has more than ${MAX_FIELDS} unknown parts`, "too_long");
      return {};
    }
    const hash = createHash("sha256");
    contents.push({ name, filename, type, hash });
    const { write, end } = isFile ? openFile(name, filename, type) : openField(name);
    const counted = (chunk: Buffer) => {
      hash.update(chunk);
      return write?.(chunk);
    };
    return decoded(headers.get("content-transfer-encoding"), { write: counted, ...(end && { end }) });
  }

  function openField(name: string): Part {
    const chunks: Buffer[] = [];
    return {
      write(chunk) {
        if ((sizes.fields += chunk.length) > MAX_FIELDS_BYTES) throw tooLarge("text of the fields", MAX_FIELDS_BYTES);
        chunks.push(chunk);
        return undefined;
      },
      end: () => texts.set(name, [...(texts.get(name) ?? []), utf8(Buffer.concat(chunks).toString("latin1"))]),
    };
  }

  function openFile(field: string, filename: string | undefined, declaredType = "application/octet-stream"): Part {
    checkFilename(field, filename);
    if (files.length === maxFiles || (fileFields.get(field) === 1 && files.includes(field)))
      throw invalid(
        ["body", field],
        maxFiles === 1 ? "Upload one file at a time" : `At most ${maxFiles} files can be uploaded here`,
        "too_long",
      );
    files.push(field);
    // Without a listener, the error of an abandoned stream would end the process.
    const content = new PassThrough().on("error", () => undefined);
    streams.push(content);
    const work = take({ field, filename, declaredType, content });
    work.catch(fail);
    taken.push(work);
    let bytes = 0;
    return {
      write(chunk) {
        if ((bytes += chunk.length) > maxFileBytes) throw tooLarge("file", maxFileBytes);
        if ((sizes.files += chunk.length) > maxTotalBytes) throw tooLarge("file", maxTotalBytes);
        return content.write(chunk) ? undefined : Promise.race([once(content, "drain"), work, failed]);
      },
      end: () => content.end(),
    };
  }

  return {
    /** Takes the next token; resolves once there is room for more. Throws a Problem. */
    read,
    /** Results of the files. */
    taken,
    /** Rejects as soon as the body must be refused. */
    failed,
    fail: (error: unknown) => fail(error),
    /** The form's fields that were read, converted to their declared types. */
    fields<S extends z.ZodObject>(): Fields<S> {
      const issues: ValidationIssue[] = [];
      for (const name of fileFields.keys())
        if (!files.includes(name) && !isOptional(form, name))
          issues.push({ loc: ["body", name], msg: `The body has no part named ${name}`, type: "missing" });
      const shape = Object.fromEntries(Object.entries(form.shape).filter(([name]) => !fileFields.has(name)));
      const schema = isStrict ? z.strictObject(shape) : z.object(shape);
      const fields = readTexts(schema, Object.fromEntries(texts), "body", issues);
      if (issues.length > 0) throw new ValidationProblem(issues);
      return fields as Fields<S>;
    },
    /** Results of the accepted parts, once they have been read. */
    digest(): string {
      const parts = contents.map(({ hash, ...each }) => [each.name, each.filename, each.type, hash.digest("hex")]);
      return createHash("sha256").update(JSON.stringify(parts)).digest("hex");
    },
    /** Ends the streams, so that consumers of files do not wait for the rest. */
    giveUp(): void {
      for (const stream of streams) stream.destroy(new Error("the upload was aborted"));
    },
  };
}

/** The name of a field that is a file or a list of files, and how many files it may hold. */
function fileFieldOf(name: string, schema: unknown): Array<[string, number]> {
  let at = schema as z.ZodType;
  while (at instanceof z.ZodOptional) at = at.unwrap() as z.ZodType;
  if (at instanceof z.ZodFile) return [[name, 1]];
  return at instanceof z.ZodArray && at.element instanceof z.ZodFile ? [[name, Number.POSITIVE_INFINITY]] : [];
}

function isOptional(form: z.ZodObject, name: string): boolean {
  return (form.shape[name] as z.ZodType).safeParse(undefined).success;
}

/** Calls `onEnd` when the client disconnects before the body is complete. */
function whenBrokenOff(req: IncomingMessage, onEnd: () => void): void {
  const check = (): void => {
    if (!req.complete) onEnd();
  };
  if (req.destroyed) check();
  req.once("close", check);
}
