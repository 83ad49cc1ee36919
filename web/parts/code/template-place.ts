/** Filters that templates offer besides the values in scope; a test compares them with the engine's. */
export const FILTERS = [
  "append",
  "capitalize",
  "compact",
  "date",
  "default",
  "divided_by",
  "downcase",
  "escape",
  "first",
  "join",
  "json",
  "last",
  "map",
  "minus",
  "plus",
  "prepend",
  "replace",
  "reverse",
  "round",
  "size",
  "slice",
  "sort",
  "split",
  "strip",
  "times",
  "truncate",
  "uniq",
  "upcase",
  "url_encode",
  "where",
] as const;

/** Where a position in a template is: in the text, or in an output or tag. */
export function placeIn(before: string): "text" | "output" | "tag" {
  const [output, tag] = [before.lastIndexOf("{{"), before.lastIndexOf("{%")];
  const open = Math.max(output, tag);
  const close = Math.max(before.lastIndexOf("}}"), before.lastIndexOf("%}"));
  if (open === -1 || close > open) return "text";
  return output > tag ? "output" : "tag";
}
