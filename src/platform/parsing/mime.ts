import { isUtf16 } from "./decode-text.ts";

export const DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
export const XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";
export const PPTX = "application/vnd.openxmlformats-officedocument.presentationml.presentation";
export const EPUB = "application/epub+zip";

/** The types whose text can be read. */
export const SUPPORTED_MIME_TYPES = [
  "text/plain",
  "text/markdown",
  "text/html",
  "text/csv",
  "application/json",
  "application/pdf",
  DOCX,
  XLSX,
  PPTX,
  EPUB,
] as const;
export type SupportedMimeType = (typeof SUPPORTED_MIME_TYPES)[number];

/** Pictures, whose text is read by character recognition. */
export const IMAGE_MIME_TYPES = ["image/png", "image/jpeg", "image/webp"] as const;
export type ImageMimeType = (typeof IMAGE_MIME_TYPES)[number];

/** Whether it is a picture that can be read. */
export function isImageMime(mime: string): mime is ImageMimeType {
  return (IMAGE_MIME_TYPES as readonly string[]).includes(mime);
}

/** Bytes from the start of a file that detectMime looks at. */
export const MIME_PROBE_BYTES = 4096;

/** Whether documents of this type can be read. */
export function isSupportedMime(mime: string): mime is SupportedMimeType {
  return (SUPPORTED_MIME_TYPES as readonly string[]).includes(mime);
}

const OLE = "application/x-ole-storage";
const UNKNOWN = "application/octet-stream";

/** First bytes (Latin-1) that no text starts with. The extension distinguishes containers. */
const MAGIC: ReadonlyArray<readonly [string, string]> = [
  ["PK\u0003\u0004", "application/zip"],
  ["\u0089PNG\r\n", "image/png"],
  ["\u00ff\u00d8\u00ff", "image/jpeg"],
  ["GIF8", "image/gif"],
  ["\u001f\u008b", "application/gzip"],
  ["\u00d0\u00cf\u0011\u00e0", OLE],
  ["\u007fELF", "application/x-executable"],
  ["MZ\u0090\u0000", "application/x-executable"],
  ["7z\u00bc\u00af", "application/x-7z-compressed"],
  ["Rar!\u001a", "application/vnd.rar"],
];

const OFFICE: Readonly<Record<string, string>> = {
  docx: DOCX,
  xlsx: XLSX,
  pptx: PPTX,
  epub: EPUB,
};

const EXTENSIONS: ReadonlyMap<string, string> = new Map([
  ...list("text/plain", "txt text log ini conf toml yaml yml xml rst tex srt vtt tsv jsonl ndjson sql"),
  ...list("text/plain", "js mjs ts py rb go rs java kt c h cpp cs php sh css"),
  ...list("text/markdown", "md markdown mdown mkd"),
  ...list("text/html", "html htm xhtml"),
  ...list("text/csv", "csv"),
  ...list("application/json", "json geojson"),
  ...list("application/pdf", "pdf"),
  ...Object.entries(OFFICE),
]);

/** The same type under names that servers and browsers use for it. */
const ALIASES: ReadonlyMap<string, string> = new Map([
  ["application/xhtml+xml", "text/html"],
  ["text/x-markdown", "text/markdown"],
  ["application/csv", "text/csv"],
  ["text/json", "application/json"],
  ["application/x-pdf", "application/pdf"],
]);

/**
 * The type of a file, from its first bytes, then its name's extension, then what was declared. A declared type is
 * believed only among texts (reading one as another does no harm); for what a web server sends, where it is the best
 * evidence there is, give no file name. Anything unknown is "application/octet-stream", which is not supported.
 */
export function detectMime(filename: string | null, declared: string | null, firstBytes: Uint8Array): string {
  const start = Buffer.from(
    firstBytes.buffer,
    firstBytes.byteOffset,
    Math.min(firstBytes.byteLength, MIME_PROBE_BYTES),
  );
  const head = start.toString("latin1");
  const extension = /\.([A-Za-z0-9]{1,10})$/.exec(filename ?? "")?.[1]?.toLowerCase();
  const byName = extension === undefined ? undefined : EXTENSIONS.get(extension);

  // Readers of PDF accept up to 1 KiB of anything before the header.
  if (
    head.slice(0, 1024).includes("%PDF-") &&
    (byName === undefined || byName === "application/pdf" || head.startsWith("%PDF-"))
  ) {
    return "application/pdf";
  }
  const byMagic = MAGIC.find(([magic]) => head.startsWith(magic))?.[1];
  if (byMagic === "application/zip" || byMagic === OLE) {
    // The latter is how an Office file is kept that is protected by a password: reading it says so.
    const declaredType = Object.values(OFFICE).find((type) => type === normalise(declared));
    return OFFICE[extension ?? ""] ?? (extension === undefined ? declaredType : undefined) ?? byMagic;
  }
  if (byMagic !== undefined) return byMagic;
  if (/^RIFF[^]{4}WEBP/.test(head)) return "image/webp";
  if (byName !== undefined) return byName;

  const type = normalise(declared);
  if (!looksLikeText(start)) return UNKNOWN;
  if (type.startsWith("text/") && isSupportedMime(type) && type !== "text/plain") return type;
  if (type === "application/json") return type;
  if (/^\s*(<!doctype html|<html|<head|<body)/i.test(head.replace(/^\u00ef\u00bb\u00bf/, ""))) return "text/html";
  return extension === undefined || type === "text/plain" ? "text/plain" : UNKNOWN;
}

function normalise(declared: string | null): string {
  const type = (declared ?? "").split(";")[0]?.trim().toLowerCase() ?? "";
  return ALIASES.get(type) ?? type;
}

/** Apart from UTF-16, text has no zeros. */
function looksLikeText(bytes: Buffer): boolean {
  return bytes.length > 0 && (!bytes.includes(0) || isUtf16(bytes));
}

function list(mime: string, extensions: string): Array<[string, string]> {
  return extensions.split(" ").map((extension) => [extension, mime]);
}
