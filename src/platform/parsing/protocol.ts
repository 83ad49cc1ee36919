import type { DocumentErrorCode } from "./errors.ts";
import type { SupportedMimeType } from "./mime.ts";
import type { DocumentProperties } from "./properties.ts";

/** The position of a page's text in the document's text (UTF-16 units, end excluded). Pages count from 1. */
export type DocumentPage = {
  readonly page: number;
  readonly char_start: number;
  readonly char_end: number;
};

/** A heading, and its position in the document's text (UTF-16 units, end excluded). Level 1 is the topmost. */
export type DocumentHeading = {
  readonly level: number;
  readonly char_start: number;
  readonly char_end: number;
};

/** The request to the parsing child; the file is the request's body. */
export type ParseRequest = {
  readonly mime: SupportedMimeType;
  /** Charset that was declared with the file. */
  readonly charset: string | null;
  /** Whether pages without text are acceptable, because character recognition reads them afterwards. */
  readonly scans: boolean;
};

/** Why a document was not read; `detail` is for logs. */
export type ReadFailure = {
  readonly ok: false;
  readonly code: DocumentErrorCode;
  readonly message: string;
  readonly detail: string;
};

/** A document as text. `pages` is null for types without pages. */
export type ReadDocument = {
  readonly text: string;
  readonly title: string | null;
  readonly properties: DocumentProperties;
  readonly pages: readonly DocumentPage[] | null;
  /** Pages that may be scans: they have no text except that of forms and notes. */
  readonly scans?: readonly number[];
  readonly headings: readonly DocumentHeading[];
  readonly warnings: readonly string[];
};

/** The result; the text is the response body, in UTF-8. */
export type ParseReply = ({ readonly ok: true } & Omit<ReadDocument, "text">) | ReadFailure;
