import { availableParallelism } from "node:os";
import { createChildPool, type ChildPool } from "../children/child-pool.ts";
import { compiledEntry, readableByChild } from "../children/entry.ts";
import type { ChildRequest } from "../children/spawn.ts";
import { DocumentError } from "../parsing/errors.ts";
import { DOCUMENT_LIMITS } from "../parsing/limits.ts";
import { readInChild } from "../parsing/read-in-child.ts";
import { OCR_PACKAGES, readOcrData } from "./ocr-data.ts";
import type { OcrReply, OcrRequest } from "./protocol.ts";

/** A picture (`pages` null), or pages of a PDF, to recognize characters in. */
export interface RecognizerCall extends Pick<OcrRequest, "pages"> {
  readonly orgId: string;
  /** Opens the document's bytes again for each attempt. */
  readonly body: () => Promise<ChildRequest["body"]>;
  readonly signal: AbortSignal | undefined;
}

export interface Recognized {
  readonly texts: readonly string[];
  readonly warnings: readonly string[];
}

/** Recognises text in pictures, in child processes. */
export interface Recognizer {
  /** Throws as readInChild, and DocumentError if packages or language data are missing. */
  recognize(call: RecognizerCall): Promise<Recognized>;
  close(): Promise<void>;
}

/** Pages per request, so that a failure does not lose the text of earlier pages. */
export const PAGES_AT_ONCE = 20;
/** Time limit of a page (ms): most take 1 to 4 s of an idle core, a hostile one may take all of it. */
const TIMEOUT_OF_PAGE_MS = 15_000;
const TIMEOUT_MS = 45_000;

/** A recognizer with its own pool of processes, which start with the first call. `close` must be called. */
export function createRecognizer(dataDir?: string): Recognizer {
  let pool: ChildPool | undefined;
  const open = (): ChildPool => {
    const entry = compiledEntry(new URL("./child.ts", import.meta.url));
    const packages = ["pdfjs-dist", ...OCR_PACKAGES.slice(0, 2)].map((name) => `${name}/package.json`);
    return createChildPool({
      entry,
      // The canvas is a native module. It gets paths and pixels, never a file.
      nodeFlags: ["--allow-addons"],
      addons: true,
      readable: [...readableByChild(entry, packages), ...(dataDir === undefined ? [] : [dataDir])],
      heapMib: 448,
      // Mostly address space reserved for WebAssembly code; a page takes 300 MiB.
      dataMib: 2048,
      size: Math.max(1, Math.floor(availableParallelism() / 2)),
      spares: 0,
      keep: 1,
      maxQueue: 1000,
      maxCalls: 50,
      timeoutMs: TIMEOUT_MS + PAGES_AT_ONCE * TIMEOUT_OF_PAGE_MS,
      maxOutputBytes: DOCUMENT_LIMITS.textBytes,
    });
  };
  return {
    async recognize({ orgId, pages, body, signal }) {
      const found = readOcrData(dataDir);
      if ("no" in found) throw new DocumentError("ocr_not_configured", found.no);
      pool ??= open();
      const header = { pages, data_dir: dataDir ?? null };
      const request = async (): Promise<ChildRequest> => ({ header, body: await body() });
      const timeoutMs = TIMEOUT_MS + (pages?.length ?? 1) * TIMEOUT_OF_PAGE_MS;
      const read = await readInChild<OcrReply>(pool, { key: orgId, request, timeoutMs, signal });
      return { texts: JSON.parse(read.body.toString("utf8")) as string[], warnings: read.reply.warnings };
    },
    close: async () => pool?.close(),
  };
}
