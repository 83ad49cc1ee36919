/** Why no text can be read from a document. */
export type DocumentErrorCode =
  | "document_broken"
  | "charset_unknown"
  | "document_encrypted"
  | "document_too_large"
  | "document_timeout"
  | "document_empty"
  | "unsupported_type"
  | "ocr_not_configured";

/** Thrown when a document cannot be read; code and message are for the person who uploaded it. */
export class DocumentError extends Error {
  readonly code: DocumentErrorCode;

  constructor(code: DocumentErrorCode, message: string, options?: { cause: unknown }) {
    super(message, options);
    this.name = "DocumentError";
    this.code = code;
  }
}

/** The error for a document that would cost too much to read. */
export const tooLarge = (message: string): DocumentError => new DocumentError("document_too_large", message);
