import type { IncomingMessage } from "node:http";
import { PassThrough } from "node:stream";
import contentDisposition from "content-disposition";
import * as formidable from "formidable";
import { koaBody } from "koa-body";
import { z } from "zod";
import { Problem, ValidationProblem, invalid, tooLarge } from "../../domain/errors.ts";
import type { ValidationIssue } from "../../domain/errors.ts";
import { isStorable } from "./json-guard.ts";
import type { RequestContext } from "./operation.ts";
import { checkMultipart } from "./read-json.ts";
import { readTexts } from "./validate.ts";

/** Parts that carry text, the ignored ones included. */
const MAX_FIELDS = 50;
/** All declared fields together (bytes). */
const MAX_FIELDS_BYTES = 1024 * 1024;
/** What a body may be longer than its files by: boundaries, headers and fields (bytes). */
const MAX_ENVELOPE_BYTES = 4 * 1024 * 1024;
/** What lies outside the parts' contents; the parser keeps the headers of a part in memory (bytes). */
const MAX_HEADERS_BYTES = 512 * 1024;
const MAX_FILENAME_CHARS = 255;

/** A file of a multipart body. */
export interface UploadedFile {
  /** The name of the form's field. */
  readonly field: string;
  /** As the client sent it: a name only, never used as a path. */
  readonly filename: string;
  /** The content type that the part declares, with its parameters. */
  readonly declaredType: string;
  readonly content: AsyncIterable<Uint8Array>;
}

/** The bounds of one multipart body. */
export interface MultipartLimits {
  /** Longest file, in bytes. */
  readonly maxFileBytes: number;
  /** All files together, in bytes; default the same. */
  readonly maxTotalBytes?: number;
  /** Default 1. */
  readonly maxFiles?: number;
}

/** The members of a form that are no files. */
type Fields<S extends z.ZodObject> = {
  [K in keyof z.output<S> as Exclude<z.output<S>[K], undefined> extends File | File[] ? never : K]: z.output<S>[K];
};

/** Fields as koa-body leaves them. */
type ReadFields = Readonly<Record<string, string | string[]>>;

/** What a multipart body held. */
export interface MultipartForm<S extends z.ZodObject, T> {
  /** Checked and converted as query parameters are. */
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
 * Reads a multipart body against its declared form: members of type `z.file()` are files, which are streamed to `take`
 * and never held in memory; a list of them (`z.array(z.file())`) may come repeatedly. The others are text fields. Parts
 * that a plain form does not declare are ignored, those that a strict one does not declare are refused. Resolves once the
 * whole body was in order. Throws a Problem: 415 for another content type, 413 over a limit, 422 for a body that is not
 * whole, a missing or unnamed file, or fields that break the form.
 */
export async function readMultipart<S extends z.ZodObject, T>(
  ctx: RequestContext,
  form: S,
  limits: MultipartLimits,
  handling: FileHandling<T>,
): Promise<MultipartForm<S, T>> {
  const { req } = ctx;
  checkMultipart(req);
  const bounds = {
    maxFileBytes: limits.maxFileBytes,
    maxTotalBytes: limits.maxTotalBytes ?? limits.maxFileBytes,
    maxFiles: limits.maxFiles ?? 1,
  };
  if (Number(req.headers["content-length"] ?? 0) > bounds.maxTotalBytes + MAX_ENVELOPE_BYTES)
    throw tooLarge("file", bounds.maxTotalBytes);
  const parts = createPartReader(form, bounds, handling.take);
  try {
    const reading = koaBody({
      json: false,
      text: false,
      urlencoded: false,
      multipart: true,
      multipartTypes: ["multipart/form-data"],
      formidable: parts.options,
    })(ctx, async () => undefined);
    await Promise.race([reading, parts.failed, brokenOff(req)]);
    const files = await Promise.race([Promise.all(parts.taken), parts.failed]);
    return { fields: parts.fields((ctx.request.body ?? {}) as ReadFields), files };
  } catch (error) {
    parts.giveUp();
    // The rest of the body is read and discarded, so that the answer can be sent.
    req.resume();
    await Promise.all(parts.taken.map((work) => work.then(handling.undo, () => undefined)));
    throw asProblem(error, bounds);
  }
}

/** A form's field whose text is JSON for `schema`. */
export function jsonField<S extends z.ZodType>(schema: S) {
  const parsed = z.string().transform((text, context): unknown => {
    try {
      // A member `__proto__` would replace a prototype wherever it is assigned, so it is dropped here.
      return JSON.parse(text, (key, value: unknown) => (key === "__proto__" ? undefined : value));
    } catch {
      context.addIssue({ code: "custom", message: "The field is not valid JSON" });
      return z.NEVER;
    }
  });
  return parsed.pipe(schema);
}

/** Members of a part that formidable's types leave out. */
interface Part extends formidable.Part {
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** How the content was decoded; formidable then uses it as the charset of a field. */
  transferEncoding: string;
}

/** Formidable's own plugin for multipart bodies, which its types leave out. */
const { multipart } = formidable as unknown as { readonly multipart: formidable.PluginFunction };

/** Decides which parts of one body count, and where their contents go. */
function createPartReader<T>(
  form: z.ZodObject,
  limits: Required<MultipartLimits>,
  take: (file: UploadedFile) => Promise<T>,
) {
  const fileFields = new Map(Object.entries(form.shape).flatMap(([name, schema]) => fileFieldOf(name, schema)));
  const isStrict = form.def.catchall instanceof z.ZodNever;
  const taken: Array<Promise<T>> = [];
  const files: Array<Omit<UploadedFile, "content">> = [];
  const streams: PassThrough[] = [];
  const undeclared = new Set<string>();
  let fieldCount = 0;
  let contentBytes = 0;
  let isOver = false;
  let fail: (error: unknown) => void = () => undefined;
  const failed = new Promise<never>((_, reject) => {
    fail = reject;
  });
  failed.catch(() => undefined);

  /** Whether formidable is to read the part. Throws a Problem. */
  function accept(part: Part): boolean {
    part.on("data", (chunk: Buffer) => {
      contentBytes += chunk.length;
    });
    const { name, filename } = readDisposition(part.headers["content-disposition"]);
    const isFile = fileFields.has(name) || filename !== undefined;
    if (!isFile && ++fieldCount > MAX_FIELDS)
      throw invalid(["body"], `The body has more than ${MAX_FIELDS} fields`, "too_long");
    if (!Object.hasOwn(form.shape, name) || (isFile && !fileFields.has(name))) {
      if (isStrict) undeclared.add(name);
      if (isFile && ++fieldCount > MAX_FIELDS + limits.maxFiles)
        throw invalid(["body"], `The body has more than ${MAX_FIELDS} parts that are not asked for`, "too_long");
      return false;
    }
    part.name = name;
    part.transferEncoding = "binary";
    if (!isFile) {
      part.mimetype = null;
      return true;
    }
    checkFilename(name, filename);
    if (files.length === limits.maxFiles || (fileFields.get(name) === 1 && files.some(({ field }) => field === name)))
      throw invalid(
        ["body", name],
        limits.maxFiles === 1 ? "Upload one file at a time" : `At most ${limits.maxFiles} files can be uploaded here`,
        "too_long",
      );
    const declaredType = part.headers["content-type"] ?? "application/octet-stream";
    part.mimetype = declaredType;
    part.originalFilename = String(files.push({ field: name, filename, declaredType }) - 1);
    return true;
  }

  /** Where formidable writes a file to. */
  function open(key: string): PassThrough {
    const file = files[Number(key)];
    if (!file) throw new Error("a file was opened that was not accepted");
    const content = new PassThrough();
    streams.push(content);
    const work = take({ ...file, content });
    work.catch(fail);
    taken.push(work);
    return content;
  }

  /** Limits what formidable does not: headers, and ignored parts. */
  function watch(reader: InstanceType<typeof formidable.Formidable>): void {
    // formidable finds file names in quadratic time and cuts them at a backslash; `accept` reads the header itself.
    Object.assign(reader, { _getFileName: () => null });
    let earlier = 0;
    reader.on("progress", (received) => {
      // What has just arrived is parsed after this.
      if (earlier - contentBytes > MAX_HEADERS_BYTES)
        fail(invalid(["body"], `The headers of the parts are longer than ${MAX_HEADERS_BYTES} bytes`, "too_long"));
      if (received > limits.maxTotalBytes + MAX_ENVELOPE_BYTES) fail(tooLarge("file", limits.maxTotalBytes));
      earlier = received;
    });
  }

  return {
    /** Rejects as soon as something is wrong with a part or a file. */
    failed,
    /** Results of the files. */
    taken,
    /** For formidable, through koa-body. */
    options: {
      // Bytes as characters: names and fields are decoded here, once they are whole.
      encoding: "binary" as const,
      // Only these: formidable's others judge by any part of the content type, so that `boundary=json` would make it JSON.
      enabledPlugins: [multipart, watch],
      allowEmptyFiles: true,
      minFileSize: 0,
      maxFileSize: limits.maxFileBytes,
      maxTotalFileSize: limits.maxTotalBytes,
      maxFieldsSize: MAX_FIELDS_BYTES,
      filename: (_name: string, _extension: string, part: formidable.Part) => part.originalFilename ?? "",
      fileWriteStreamHandler: (file?: object) => open((file as { readonly newFilename: string }).newFilename),
      onPart(part: formidable.Part, handle: (part: formidable.Part) => unknown) {
        if (isOver) return;
        try {
          if (accept(part as Part)) Promise.resolve(handle(part)).catch(fail);
        } catch (error) {
          isOver = true;
          fail(error);
        }
      },
    },
    /** The form's fields among what was read, with the types that it declares. */
    fields<S extends z.ZodObject>(read: ReadFields): Fields<S> {
      const issues: ValidationIssue[] = [];
      for (const name of fileFields.keys()) {
        const isMissing = !files.some(({ field }) => field === name) && !isOptional(form, name);
        if (isMissing) issues.push({ loc: ["body", name], msg: `The body has no part named ${name}`, type: "missing" });
      }
      const texts = new Map<string, string[]>([...undeclared].map((name) => [name, [""]]));
      for (const [name, values] of Object.entries(read)) texts.set(name, [values].flat().map(utf8));
      const shape = Object.fromEntries(Object.entries(form.shape).filter(([name]) => !fileFields.has(name)));
      const schema = isStrict ? z.strictObject(shape) : z.object(shape);
      const fields = readTexts(schema, Object.fromEntries(texts), "body", issues);
      if (issues.length > 0) throw new ValidationProblem(issues);
      return fields as Fields<S>;
    },
    /** From here on no part counts any more, and what takes a file does not wait for the rest of it. */
    giveUp(): void {
      isOver = true;
      for (const stream of streams) stream.destroy(new Error("the upload was given up"));
    },
  };
}

/** The name of a member that is a file or a list of files, and how many it may hold. */
function fileFieldOf(name: string, schema: unknown): Array<[string, number]> {
  let at = schema as z.ZodType;
  while (at instanceof z.ZodOptional) at = at.unwrap() as z.ZodType;
  if (at instanceof z.ZodFile) return [[name, 1]];
  return at instanceof z.ZodArray && at.element instanceof z.ZodFile ? [[name, Number.POSITIVE_INFINITY]] : [];
}

function isOptional(form: z.ZodObject, name: string): boolean {
  return (form.shape[name] as z.ZodType).safeParse(undefined).success;
}

function readDisposition(header: string | undefined): { name: string; filename: string | undefined } {
  try {
    const { parameters } = contentDisposition.parse(header ?? "");
    if (parameters["name"] === undefined) throw new Error("no name");
    const { filename } = parameters;
    return { name: utf8(parameters["name"]), filename: filename === undefined ? undefined : utf8(filename) };
  } catch {
    const message = 'Each part needs a header of the form Content-Disposition: form-data; name="..."; filename="..."';
    throw invalid(["body"], message, "multipart_invalid");
  }
}

/** Decodes text whose characters are bytes: as UTF-8 if valid, else as Latin-1, in which older clients send names. */
function utf8(text: string): string {
  const bytes = Buffer.from(text, "latin1");
  if (bytes.toString("latin1") !== text) return text;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return text;
  }
}

function checkFilename(field: string, filename: string | undefined): asserts filename is string {
  const refuse = (message: string, type: string): never => {
    throw invalid(["body", field], message, type);
  };
  if (filename === undefined || filename === "") return refuse("The part has no file name", "missing");
  if (filename.length > MAX_FILENAME_CHARS)
    return refuse(`A file name has at most ${MAX_FILENAME_CHARS} characters`, "string_too_long");
  if (!/^[^\p{Cc}]*$/u.test(filename) || !isStorable(filename))
    return refuse("A file name has no control characters", "string_pattern_mismatch");
}

/** Rejects when the client disconnects before the body is complete. */
function brokenOff(req: IncomingMessage): Promise<never> {
  return new Promise((_, reject) => {
    const check = (): void => {
      if (!req.complete) reject(new Problem("bad_request", "The request ended before its body did."));
    };
    if (req.destroyed) check();
    req.once("close", check);
  });
}

function asProblem(error: unknown, limits: Required<MultipartLimits>): unknown {
  if (!(error instanceof Error) || !("httpCode" in error) || !("code" in error)) return error;
  const { errors } = formidable as unknown as { readonly errors: Readonly<Record<string, number>> };
  switch (error.code) {
    case errors["biggerThanMaxFileSize"]:
      return tooLarge("file", limits.maxFileBytes);
    case errors["biggerThanTotalMaxFileSize"]:
      return tooLarge("file", limits.maxTotalBytes);
    case errors["maxFieldsSizeExceeded"]:
      return tooLarge("text of the fields", MAX_FIELDS_BYTES);
    case errors["aborted"]:
      return new Problem("bad_request", "The request ended before its body did.", { cause: error });
    default:
      return invalid(["body"], "The body is not whole or not multipart/form-data", "multipart_invalid");
  }
}
