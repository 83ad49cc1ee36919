import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { createChildPool, type ChildPool } from "../children/child-pool.ts";
import { compiledEntry, readableByChild } from "../children/entry.ts";
import type { ChildRequest } from "../children/spawn.ts";
import { createRecognizer, PAGES_AT_ONCE, type Recognized } from "../ocr/recognizer.ts";
import { charsetIn } from "./decode-text.ts";
import { wholeOf } from "../whole.ts";
import { DocumentError, tooLarge } from "./errors.ts";
import { DOCUMENT_LIMITS, mib } from "./limits.ts";
import {
  detectMime,
  isImageMime,
  isSupportedMime,
  MIME_PROBE_BYTES,
  SUPPORTED_MIME_TYPES,
  type ImageMimeType,
  type SupportedMimeType,
} from "./mime.ts";
import type { DocumentPage, ParseReply, ParseRequest, ReadDocument } from "./protocol.ts";
import { readInChild } from "./read-in-child.ts";
import { joinPages } from "./text-parts.ts";

export interface DocumentParserOptions {
  /** Documents parsed at the same time; default 2. Each may take ~600 MiB. */
  readonly size?: number;
  /** Longest time for one document in milliseconds; default 60 000. */
  readonly timeoutMs?: number;
  /** Folder of the language data for character recognition. Default: that of its package. */
  readonly ocrDataDir?: string | undefined;
}

/** Where a document's bytes are. A stream (of all bytes, or of bytes `start` to `end`) is opened again for each attempt. */
export type DocumentSource =
  | { readonly bytes: Uint8Array }
  | { readonly path: string }
  | {
      readonly size: number;
      readonly open: (range?: { readonly start: number; readonly end: number }) => Promise<AsyncIterable<Uint8Array>>;
    };

/** A document to read. */
export interface DocumentRequest {
  /** Processes that have read one organisation's documents never read those of another. */
  readonly orgId: string;
  readonly source: DocumentSource;
  /** `null` for what a web server sent, because its `declared` type is more reliable than its URL. */
  readonly filename: string | null;
  /** The Content-Type that came with it. */
  readonly declared: string | null;
  /** Whether pictures, and PDF pages without text, are read by character recognition. Default false. */
  readonly ocr?: boolean;
  readonly signal?: AbortSignal | undefined;
}

/**
 * A document as text, which is well-formed, without control characters except tabs and line feeds, and at most 25 MiB in UTF-8. Headings
 * are in the order of the text; warnings are for people, about parts that were omitted.
 */
export interface ParsedDocument extends Omit<ReadDocument, "scans"> {
  readonly mime: SupportedMimeType | ImageMimeType;
  readonly page_count: number | null;
}

/** Reads documents in child processes that hostile files cannot escape. */
export interface DocumentParser {
  /**
   * Throws DocumentError for a document that cannot be read; the reason of `signal`; or ChildPoolError `queue_full`, `start_failed` or
   * `closed`, which the document did not cause.
   */
  parse(request: DocumentRequest): Promise<ParsedDocument>;
  warm(): Promise<void>;
  stats: ChildPool["stats"];
  close(): Promise<void>;
}

/** A parser with its own pool of processes; `close` must be called. */
export function createDocumentParser(options: DocumentParserOptions = {}): DocumentParser {
  const entry = compiledEntry(new URL("./child.ts", import.meta.url));
  const recognizer = createRecognizer(options.ocrDataDir);
  const pool = createChildPool({
    entry,
    nodeFlags: [],
    readable: readableByChild(entry, ["pdfjs-dist/package.json"]),
    heapMib: 448,
    dataMib: 600,
    size: options.size ?? 2,
    spares: 1,
    keep: 1,
    maxQueue: 1000,
    maxCalls: 50,
    timeoutMs: options.timeoutMs ?? DOCUMENT_LIMITS.timeoutMs,
    maxOutputBytes: DOCUMENT_LIMITS.textBytes,
  });
  return {
    async parse(request) {
      const { orgId, ocr = false, signal } = request;
      const source = await resolve(request.source);
      if (source.size === 0) throw new DocumentError("document_empty", "The file is empty.");
      const mime = detectMime(request.filename, request.declared, await source.firstBytes(MIME_PROBE_BYTES));
      if (!isImageMime(mime) && !isSupportedMime(mime)) {
        const message = `Files of type ${mime} are not supported. Supported types: ${SUPPORTED_MIME_TYPES.join(", ")}.`;
        throw new DocumentError("unsupported_type", message);
      }
      if (isImageMime(mime) && !ocr)
        throw new DocumentError("unsupported_type", "Images need OCR. Turn on `ocr` for this knowledge base.");
      if (source.size > DOCUMENT_LIMITS.inputBytes)
        throw tooLarge(`The file is larger than ${mib(DOCUMENT_LIMITS.inputBytes)}.`);
      const recognize = (pages: readonly number[] | null): Promise<Recognized> =>
        recognizer.recognize({ orgId, pages, body: source.body, signal });
      if (isImageMime(mime)) {
        const { texts, warnings } = await recognize(null);
        const text = texts.join("");
        if (text === "") throw new DocumentError("document_empty", "The image contains no text.");
        return { mime, text, title: null, properties: {}, pages: null, page_count: null, headings: [], warnings };
      }
      const header: ParseRequest = { mime, charset: charsetIn(request.declared ?? ""), scans: ocr };
      const ask = async (): Promise<ChildRequest> => ({ header, body: await source.body() });
      const { reply, body } = await readInChild<ParseReply>(pool, { key: orgId, request: ask, signal });
      const { title, properties, pages, headings, warnings } = reply;
      const text = body.toString("utf8");
      const page_count = pages?.length ?? null;
      const parsed = { mime, text, title, properties, pages, page_count, headings, warnings };
      return ocr && pages !== null ? await readScans({ ...parsed, pages }, reply.scans ?? [], recognize) : parsed;
    },
    warm: () => pool.warm(),
    stats: () => pool.stats(),
    async close() {
      await Promise.all([pool.close(), recognizer.close()]);
    },
  };
}

/** The document with its pages without text read by character recognition. */
async function readScans(
  document: ParsedDocument & { readonly pages: readonly DocumentPage[] },
  scans: readonly number[],
  recognize: (pages: readonly number[]) => Promise<Recognized>,
): Promise<ParsedDocument> {
  const texts = document.pages.map(({ char_start, char_end }) => document.text.slice(char_start, char_end));
  if (scans.length === 0) return document;
  if (scans.length > DOCUMENT_LIMITS.ocrPages) {
    throw tooLarge(
      `The document has ${scans.length} pages without text; OCR can read at most ${DOCUMENT_LIMITS.ocrPages}.`,
    );
  }
  const warnings = [...document.warnings];
  for (let at = 0; at < scans.length; at += PAGES_AT_ONCE) {
    const pages = scans.slice(at, at + PAGES_AT_ONCE);
    const recognized = await recognize(pages);
    for (const [i, page] of pages.entries())
      texts[page - 1] = [recognized.texts[i] ?? "", texts[page - 1] ?? ""].filter((text) => text !== "").join("\n");
    warnings.push(...recognized.warnings);
  }
  const joined = joinPages(texts);
  if (joined.text.trim() === "") throw new DocumentError("document_empty", "The document contains no text.");
  return { ...document, ...joined, warnings };
}

interface ResolvedSource {
  readonly size: number;
  readonly firstBytes: (count: number) => Promise<Uint8Array>;
  readonly body: () => Promise<ChildRequest["body"]>;
}

async function resolve(source: DocumentSource): Promise<ResolvedSource> {
  if ("bytes" in source) {
    const { bytes } = source;
    return { size: bytes.byteLength, firstBytes: async (count) => bytes.subarray(0, count), body: async () => bytes };
  }
  if ("path" in source) {
    const { path } = source;
    const { size } = await stat(path);
    return await resolve({ size, open: async (range) => createReadStream(path, range) });
  }
  const { size } = source;
  return {
    size,
    firstBytes: async (count) => wholeOf(await source.open({ start: 0, end: Math.min(count, size) - 1 })),
    body: async () => ({ stream: await source.open(), size }),
  };
}
