import contentDisposition from "content-disposition";
import { invalid, type Problem } from "../../domain/errors.ts";
import { isStorable } from "./json-guard.ts";

const MAX_FILENAME_CHARS = 255;

/** Receives the bytes of a part. */
export interface Part {
  /** Resolves once there is room for more; undefined if there is room already. Throws a Problem. */
  write?(this: void, chunk: Buffer): Promise<unknown> | undefined;
  end?(this: void): void;
}

export function notWhole(): Problem {
  return invalid(["body"], "The body is incomplete or not valid multipart/form-data", "multipart_invalid");
}

/** A part whose bytes are in a transfer encoding, which older clients use. Throws a Problem for an unknown encoding. */
export function decoded(encoding: string | undefined, { write, end }: Part): Part {
  if (encoding === undefined || /^(7bit|8bit|binary|utf-8)$/i.test(encoding)) return { write, end } as Part;
  if (encoding.toLowerCase() !== "base64") throw notWhole();
  let rest = "";
  return {
    write(chunk) {
      const text = rest + chunk.toString("latin1");
      const whole = text.length - (text.length % 4);
      rest = text.slice(whole);
      return write?.(Buffer.from(text.slice(0, whole), "base64"));
    },
    end() {
      void write?.(Buffer.from(rest, "base64"));
      end?.();
    },
  };
}

/** The name of the field, and the name of the file if the part is a file. Throws a Problem. */
export function readDisposition(header: string | undefined): { name: string; filename: string | undefined } {
  try {
    // A browser sends a backslash in a name unescaped, so a backslash escapes only a quote or another backslash.
    const { parameters } = contentDisposition.parse(
      (header ?? "").replace(/\\(?:["\\])?/g, (escape) => (escape.length === 1 ? "\\\\" : escape)),
    );
    if (parameters["name"] === undefined) throw new Error("no name");
    return { name: utf8(parameters["name"]), filename: fileNameIn(parameters, header ?? "") };
  } catch {
    const message = 'Each part needs a header of the form Content-Disposition: form-data; name="..."; filename="..."';
    throw invalid(["body"], message, "multipart_invalid");
  }
}

function fileNameIn({ filename }: Record<string, string | undefined>, header: string): string | undefined {
  if (filename === undefined || /;\s*filename\*\s*=/i.test(header)) return filename;
  // A quote, as browsers and curl write it (HTML, "multipart/form-data encoding algorithm").
  return utf8(filename).replaceAll("%22", '"');
}

/** Decodes text whose characters are bytes: as UTF-8 if valid, else as Latin-1, in which older clients send names. */
export function utf8(text: string): string {
  const bytes = Buffer.from(text, "latin1");
  if (bytes.toString("latin1") !== text) return text;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return text;
  }
}

/** Throws a Problem unless the name can be stored. */
export function checkFilename(field: string, filename: string | undefined): asserts filename is string {
  const refuse = (message: string, type: string): never => {
    throw invalid(["body", field], message, type);
  };
  if (filename === undefined || filename === "") return refuse("The part has no file name", "missing");
  if (filename.length > MAX_FILENAME_CHARS)
    return refuse(`A file name can have at most ${MAX_FILENAME_CHARS} characters`, "string_too_long");
  if (!/^[^\p{Cc}]*$/u.test(filename) || !isStorable(filename))
    return refuse("A file name cannot contain control characters", "string_pattern_mismatch");
}
