import { isBinary, isUtf16 } from "./decode-text.ts";

export const DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
export const XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";
export const PPTX = "application/vnd.openxmlformats-officedocument.presentationml.presentation";
export const EPUB = "application/epub+zip";
export const MAIL = "message/rfc822";

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
  MAIL,
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
const RTF = "application/rtf";

/** First bytes (as Latin-1) that no text starts with. The file extension distinguishes types with the same container. */
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
  ["{\\rtf", RTF],
  ["%!PS", "application/postscript"],
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
  // Looks like text, but its words are surrounded by codes.
  ...list(RTF, "rtf"),
  ...list(MAIL, "eml mht mhtml"),
  ...list("application/mbox", "mbox"),
]);

/** Other names of the same type that servers and browsers use. */
const ALIASES: ReadonlyMap<string, string> = new Map([
  ["application/xhtml+xml", "text/html"],
  ["text/x-markdown", "text/markdown"],
  ["application/csv", "text/csv"],
  ["text/json", "application/json"],
  ["application/x-pdf", "application/pdf"],
]);

/**
 * The type of a file, from its first bytes, then its name's extension, then the declared type. A declared type is accepted only between
 * text types, because reading one as another does no harm. For the response of a web server, where the declared type is the best evidence,
 * pass no file name. Anything unknown is "application/octet-stream", which is not supported.
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

  // PDF readers accept up to 1 KiB of anything before the header.
  if (
    head.slice(0, 1024).includes("%PDF-") &&
    (byName === undefined || byName === "application/pdf" || head.startsWith("%PDF-"))
  ) {
    return "application/pdf";
  }
  const byMagic = MAGIC.find(([magic]) => head.startsWith(magic))?.[1];
  if (byMagic === "application/zip" || byMagic === OLE) {
    // OLE is also the container of a password-protected Office file; reading it returns that error.
    const declaredType = Object.values(OFFICE).find((type) => type === normalise(declared));
    return OFFICE[extension ?? ""] ?? (extension === undefined ? declaredType : undefined) ?? byMagic;
  }
  if (byMagic !== undefined) return byMagic;
  if (/^RIFF[^]{4}WEBP/.test(head)) return "image/webp";
  if ((byName ?? "text/plain") === "text/plain" && isMail(head)) return MAIL;
  if (byName !== undefined) return byName;

  const type = normalise(declared);
  if (!looksLikeText(start, type.startsWith("text/"))) return UNKNOWN;
  if (type.startsWith("text/") && isSupportedMime(type) && type !== "text/plain") return type;
  if (type === "application/json") return type;
  if (/^\s*(<!doctype html|<html|<head|<body)/i.test(head.replace(/^\u00ef\u00bb\u00bf/, ""))) return "text/html";
  return extension === undefined || type === "text/plain" ? "text/plain" : UNKNOWN;
}

function normalise(declared: string | null): string {
  const type = (declared ?? "").split(";")[0]?.trim().toLowerCase() ?? "";
  return ALIASES.get(type) ?? type;
}

/** A few zeros are accepted in a file that is declared as text; in other files they are a reason to doubt it. */
function looksLikeText(bytes: Buffer, isDeclared: boolean): boolean {
  if (bytes.length === 0 || isUtf16(bytes)) return bytes.length > 0;
  const zeros = isDeclared ? 0 : bytes.filter((byte) => byte === 0).length;
  return zeros * 100 <= bytes.length && !isBinary(bytes.toString("latin1"));
}

/** Header names that only mail has. */
const OF_MAIL = new Set(["mime-version", "message-id", "received", "return-path", "delivered-to"]);

/** Whether a text begins with mail headers. The body of a mail is encoded, and its attachments are not text. */
function isMail(head: string): boolean {
  const names = new Set<string>();
  for (const line of head.split("\n")) {
    if (line.trim() === "") break;
    const name = /^([!-9;-~]{1,60}):/.exec(line)?.[1]?.toLowerCase();
    if (name === undefined && !/^[ \t]/.test(line)) return false;
    if (name !== undefined) names.add(name);
  }
  return names.has("from") && [...names].some((name) => OF_MAIL.has(name));
}

function list(mime: string, extensions: string): Array<[string, string]> {
  return extensions.split(" ").map((extension) => [extension, mime]);
}
