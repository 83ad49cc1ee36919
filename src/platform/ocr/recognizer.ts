import { availableParallelism } from "node:os";
import type { ChildPool } from "../children/child-pool.ts";
import { createChildPool } from "../children/child-pool.ts";
import { compiledEntry, readableByChild } from "../children/entry.ts";
import type { Frame } from "../children/frames.ts";
import type { ChildRequest } from "../children/spawn.ts";
import { DOCUMENT_LIMITS } from "../parsing/limits.ts";
import { OCR_PACKAGES, readOcrData } from "./ocr-data.ts";
import type { OcrRequest } from "./protocol.ts";

/** One document to recognize characters in. */
export interface RecognizerCall {
  readonly orgId: string;
  readonly header: OcrRequest;
  /** Opens the document's bytes again for each attempt. */
  readonly body: () => Promise<ChildRequest["body"]>;
  readonly signal: AbortSignal | undefined;
}

/** Recognises text in pictures, in child processes. */
export interface Recognizer {
  /** Folder of the language data; null uses that of the package. */
  readonly dataDir: string | null;
  /** Why character recognition cannot be used here; null if packages and language data are available. */
  problem(): string | null;
  /** Returns the child's response; throws ChildPoolError, or the reason of `signal`. */
  call(call: RecognizerCall): Promise<Frame>;
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
    dataDir: dataDir ?? null,
    problem() {
      const found = readOcrData(dataDir);
      return "no" in found ? found.no : null;
    },
    async call({ orgId, header, body, signal }) {
      pool ??= open();
      const request = async (): Promise<ChildRequest> => ({ header, body: await body() });
      const timeoutMs = TIMEOUT_MS + (header.pages?.length ?? 1) * TIMEOUT_OF_PAGE_MS;
      return await pool.call({ key: orgId, request, timeoutMs, signal });
    },
    close: async () => pool?.close(),
  };
}
