import { createRequire } from "node:module";
import { join } from "node:path";
import type { PDFDocumentProxy } from "pdfjs-dist/legacy/build/pdf.mjs";
import { DocumentError, tooLarge } from "./errors.ts";

// Not an import declaration: in a bundle, packages are evaluated before all of our modules, but pdfjs needs its environment first.
const { getDocument } = await import("pdfjs-dist/legacy/build/pdf.mjs");
const PACKAGE = join(createRequire(import.meta.url).resolve("pdfjs-dist/package.json"), "..");
/** Resources for drawing a page: the standard fonts that it names, and picture decoders. */
const DRAWING = {
  standardFontDataUrl: `${join(PACKAGE, "standard_fonts")}/`,
  wasmUrl: `${join(PACKAGE, "wasm")}/`,
  useWasm: true,
  /** Most pixels of a picture; larger ones are not drawn. */
  maxImageSize: 100_000_000,
};

/** Opens a PDF for its text or for drawing. Takes ownership of the bytes. Throws DocumentError if the file is not a PDF or is protected. */
export async function openPdf(bytes: Uint8Array, { draws = false } = {}): Promise<PDFDocumentProxy> {
  const task = getDocument({
    // pdfjs refuses a Buffer, so its memory is transferred, not copied.
    data: new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength),
    isEvalSupported: false,
    useWasm: false,
    useWorkerFetch: false,
    useSystemFonts: false,
    disableFontFace: true,
    enableXfa: false,
    // Needed to decode text in Chinese, Japanese and Korean fonts.
    cMapUrl: `${join(PACKAGE, "cmaps")}/`,
    cMapPacked: true,
    verbosity: 0,
    ...(draws ? DRAWING : {}),
  });
  try {
    return await task.promise;
  } catch (error) {
    if (isOutOfMemory(error)) throw outOfMemory();
    if (error instanceof Error && error.name === "PasswordException") {
      throw new DocumentError("document_encrypted", "The PDF is protected by a password.");
    }
    throw new DocumentError("document_broken", "The file is not a readable PDF.", { cause: error });
  }
}

/** Whether pdfjs failed because it could not allocate memory. */
export function isOutOfMemory(error: unknown): boolean {
  return (
    error instanceof Error &&
    /allocation failed|allocate memory|out of memory|Invalid (typed )?array (buffer )?length/i.test(error.message)
  );
}

/** The error to report in that case. */
export function outOfMemory(): DocumentError {
  return tooLarge("The document needs too much memory to read.");
}
