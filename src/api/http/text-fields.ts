import { z } from "zod";
import { distinct } from "../../domain/distinct.ts";

/** Text without control characters, for user IDs and tags; written out, because few readers of the document know `\p{Cc}`. */
// oxlint-disable-next-line no-control-regex
const VISIBLE = /^[^\u0000-\u001f\u007f-\u009f]*$/;

/** Text of one character to `max`, without control characters. */
export function visibleText(max: number): z.ZodString {
  return z.string().min(1).max(max).regex(VISIBLE, "Control characters are not allowed");
}

export const tag = visibleText(64);
export const tagList = z.array(tag).max(20).overwrite(distinct);

/** The `<user>-<conversation>` ID: any text, which must match exactly. */
export const userHandle = visibleText(256).describe(
  "`user_id` in the form `<user>-<conversation>` that owns the documents; must match exactly.",
);
