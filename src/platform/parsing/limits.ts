import { tooLarge, type DocumentError } from "./errors.ts";

/** Limits on what reading a document may cost. */
export const DOCUMENT_LIMITS = {
  /** The file itself, bytes. */
  inputBytes: 128 * 1024 * 1024,
  pages: 2000,
  /** Further headings are treated as ordinary text. */
  headings: 10_000,
  /** Limits of an archive (DOCX, XLSX, PPTX, EPUB): its files, and their total size unpacked in bytes. */
  archiveFiles: 10_000,
  archiveBytes: 256 * 1024 * 1024,
  /** Unpacked size of those parts of a DOCX that its text is made of, in bytes. */
  wordBytes: 64 * 1024 * 1024,
  /** Its text in UTF-8, bytes. */
  textBytes: 25 * 1024 * 1024,
  timeoutMs: 60_000,
  /** Most pages of a document that are read by character recognition, because each takes seconds. */
  ocrPages: 200,
} as const;

/** Bytes as a whole number of MiB, for messages. */
export function mib(bytes: number): string {
  return `${Math.round(bytes / (1024 * 1024))} MiB`;
}

/** The error for a document whose text is longer than the limit. */
export function textTooLong(): DocumentError {
  return tooLarge(`The document's text is longer than ${mib(DOCUMENT_LIMITS.textBytes)}.`);
}
