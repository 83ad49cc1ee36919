import { withoutControls } from "./decode-text.ts";
import { DOCUMENT_LIMITS, textTooLong } from "./limits.ts";

/** A text joined from parts with known positions, up to the longest text a document may have. */
export interface TextParts {
  /** Length so far in UTF-16 units. */
  readonly length: number;
  /** Adds a part. Throws DocumentError `document_too_large`. */
  add(text: string): void;
  toString(): string;
}

export function createTextParts(): TextParts {
  const parts: string[] = [];
  let length = 0;
  return {
    get length() {
      return length;
    },
    add(raw) {
      const text = withoutControls(raw);
      length += text.length;
      if (length > DOCUMENT_LIMITS.textBytes) throw textTooLong();
      parts.push(text);
    },
    toString: () => parts.join(""),
  };
}
