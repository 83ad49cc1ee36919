import type { ReadFailure } from "../parsing/protocol.ts";

/** What the child is asked to read: a picture (`pages` null), or pages of a PDF, from 1. The file is the request's body. */
export type OcrRequest = {
  readonly pages: readonly number[] | null;
  /** Folder of the language data; null uses that of the package. */
  readonly data_dir: string | null;
};

/** The header of a result. The texts are the response body, a JSON array with "" for a page that cannot be drawn. */
export type OcrReply = { readonly ok: true; readonly warnings: readonly string[] } | ReadFailure;
