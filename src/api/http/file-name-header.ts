import contentDisposition from "content-disposition";

/**
 * The `Content-Disposition` of a download. Any name is preserved: names with other than plain ASCII characters are in `filename*` (RFC
 * 8187), and `filename` contains a similar name for clients that read only that one.
 */
export function fileNameHeader(name: string, type: "attachment" | "inline" = "attachment"): string {
  const wellFormed = name.toWellFormed();
  return contentDisposition(wellFormed, { type, fallback: likeness(wellFormed) });
}

/** Accents are dropped; so are quotes, percent signs and backslashes, which browsers interpret differently. */
function likeness(name: string): string {
  return name
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .replace(/[^\x20-\x7e]|["%\\]/gu, "_");
}
