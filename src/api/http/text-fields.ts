import { z } from "zod";
import { distinct } from "../../domain/distinct.ts";

/** Text without control characters, for handles and tags; written out, as few who read the document know `\p{Cc}`. */
// oxlint-disable-next-line no-control-regex
const VISIBLE = /^[^\u0000-\u001f\u007f-\u009f]*$/;

/** Text of one character to `max`, without control characters. */
export function visibleText(max: number): z.ZodString {
  return z.string().min(1).max(max).regex(VISIBLE, "Control characters are not allowed");
}

export const tag = visibleText(64);
export const tagList = z.array(tag).max(20).overwrite(distinct);

/** The `<user>-<conversation>` handle: any text, compared exactly. */
export const userHandle = visibleText(256).describe(
  "The `<user>-<conversation>` handle under which documents were uploaded; compared exactly.",
);
