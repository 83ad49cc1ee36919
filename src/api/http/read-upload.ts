import type { IncomingMessage } from "node:http";
import { Busboy } from "@fastify/busboy";
import type { BusboyFileStream, BusboyHeaders, BusboyInstance } from "@fastify/busboy";
import { Problem, invalid } from "../../domain/errors.ts";
import { tooLarge } from "../../services/documents/store-upload.ts";
import type { UploadedFile } from "../../services/documents/store-upload.ts";
import { isStorable } from "./json-guard.ts";

/** Beside the file: the parts' headers and what a form may carry along, which is ignored. */
const LIMITS = {
  files: 1,
  fields: 50,
  parts: 51,
  fieldSize: 64 * 1024,
  headerPairs: 20,
  headerSize: 16 * 1024,
} as const;
/** What a multipart body may be longer than its file by (bytes). */
const ENVELOPE_BYTES = 1024 * 1024 * 4;

const FILE = ["body", "file"] as const;

/**
 * Reads the one file of a multipart request and hands it to `take` as a stream; resolves with what that made of it once
 * the whole body has been read and was in order. Throws 413 before reading what is declared as too long, and 422 where
 * there is no part `file` with a name, more than one file, or the body breaks off. When the body turns out to be at
 * fault after `take` is done, `undo` gets what it made.
 */
export async function readUpload<T>(
  req: IncomingMessage,
  { maxBytes }: { readonly maxBytes: number },
  take: (file: UploadedFile) => Promise<T>,
  undo: (made: T) => Promise<void>,
): Promise<T> {
  if (Number(req.headers["content-length"] ?? 0) > maxBytes + ENVELOPE_BYTES) throw tooLarge(maxBytes);
  const parser = createParser(req);
  let taking: Promise<T> | undefined;
  let current: BusboyFileStream | undefined;
  try {
    const finished = new Promise<void>((resolve, reject) => {
      const refuse = (problem: Problem) => (): void => reject(problem);
      parser.on("file", (field: string | undefined, content, filename: string | undefined, _encoding, declaredType) => {
        // An error of a stream that nobody reads any more would end the process.
        content.on("error", () => undefined);
        if (field !== "file" || taking) {
          content.resume();
          if (field === "file") reject(oneFile());
          return;
        }
        const name = checkFilename(filename);
        if (name instanceof Problem) {
          content.resume();
          reject(name);
          return;
        }
        current = content;
        taking = take({ filename: name, declaredType, content: chunksOf(content) });
        taking.catch(reject);
      });
      parser.on("filesLimit", refuse(oneFile()));
      parser.on("partsLimit", refuse(invalid(["body"], `The body has more than ${LIMITS.parts} parts`, "too_long")));
      parser.on("fieldsLimit", refuse(invalid(["body"], `The body has more than ${LIMITS.fields} fields`, "too_long")));
      parser.on(
        "error",
        refuse(invalid(["body"], "The body is not whole or not multipart/form-data", "multipart_invalid")),
      );
      parser.on("finish", resolve);
      req.on("error", () => reject(new Problem("bad_request", "The request ended before its body did.")));
      req.on("aborted", () => reject(new Problem("bad_request", "The request ended before its body did.")));
      req.pipe(parser);
    });
    await finished;
    // The parser passes over a part with a line break in its name.
    if (!taking) throw invalid(FILE, "The body has no part named file whose file name can be read", "missing");
    return await taking;
  } catch (error) {
    // What is left of the body is read and dropped, so that the answer can be sent.
    req.unpipe(parser);
    req.resume();
    parser.destroy();
    // Who takes the file must not wait for the rest of it.
    current?.destroy(new Error("the upload was given up"));
    await taking?.then(undo, () => undefined);
    throw error;
  }
}

/** The 413 of a file over the limit. */
function oneFile(): Problem {
  return invalid(FILE, "Upload one file at a time", "too_long");
}

function createParser(req: IncomingMessage): BusboyInstance {
  try {
    return new Busboy({
      headers: req.headers as BusboyHeaders,
      limits: LIMITS,
      // Names are only data: what path they show is kept as text and never followed.
      preservePath: true,
      isPartAFile: (field, _type, filename) => field === "file" || filename !== undefined,
    });
  } catch (error) {
    throw new Problem("unsupported_media_type", "The content type must be multipart/form-data with a boundary.", {
      cause: error,
    });
  }
}

function checkFilename(filename: string | undefined): string | Problem {
  if (filename === undefined || filename === "") return invalid(FILE, "The part has no file name", "missing");
  if (filename.length > 255) return invalid(FILE, "A file name has at most 255 characters", "string_too_long");
  if (!/^[^\p{Cc}]*$/u.test(filename) || !isStorable(filename)) {
    return invalid(FILE, "A file name has no control characters", "string_pattern_mismatch");
  }
  return filename;
}

async function* chunksOf(content: BusboyFileStream): AsyncGenerator<Uint8Array, void> {
  for await (const chunk of content as AsyncIterable<Buffer>) yield chunk;
}
