import { isUuid } from "../uuid.ts";
import { isWebAddress } from "../web-address.ts";

export const MEDIA_KINDS = ["audio", "image"] as const;
/** Node types that take a recording or an image. */
export type MediaKind = (typeof MEDIA_KINDS)[number];

/** Supported file types, detected from a file's content. */
export const MEDIA_TYPES: Readonly<Record<MediaKind, readonly string[]>> = {
  audio: ["audio/mpeg", "audio/wav", "audio/ogg", "audio/flac", "audio/mp4", "audio/webm", "audio/aac"],
  image: ["image/png", "image/jpeg", "image/webp", "image/gif"],
};
/** Image types whose text is recognised without a model. */
export const OCR_TYPES: readonly string[] = ["image/png", "image/jpeg", "image/webp"];

/** How many bytes from the start of a file reveal its type. */
export const MEDIA_PROBE_BYTES = 64;

/** Signatures of file types: the first bytes, as Latin-1. */
const SIGNATURES: ReadonlyArray<readonly [RegExp, string]> = [
  [/^\u0089PNG\r\n/, "image/png"],
  [/^\u00ff\u00d8\u00ff/, "image/jpeg"],
  [/^GIF8[79]a/, "image/gif"],
  [/^RIFF[^]{4}WEBP/, "image/webp"],
  [/^RIFF[^]{4}WAVE/, "audio/wav"],
  [/^OggS/, "audio/ogg"],
  [/^fLaC/, "audio/flac"],
  [/^[^]{4}ftyp/, "audio/mp4"],
  [/^[^]E\u00df\u00a3/, "audio/webm"],
  [/^ID3/, "audio/mpeg"],
  [/^\u00ff[\u00f0\u00f1\u00f8\u00f9]/, "audio/aac"],
  [/^\u00ff[\u00e2\u00e3\u00f2-\u00f7\u00fa-\u00fd]/, "audio/mpeg"],
];

/** The type of a file by its first bytes; null if it is not one of this kind. */
export function mediaType(kind: MediaKind, firstBytes: Uint8Array): string | null {
  const head = String.fromCharCode(...firstBytes.subarray(0, MEDIA_PROBE_BYTES));
  const type = SIGNATURES.find(([signature]) => signature.test(head))?.[1];
  return type !== undefined && MEDIA_TYPES[kind].includes(type) ? type : null;
}

/** The file that an input or expression refers to: its bytes, an uploaded file, or an image's URL. */
export type MediaSource =
  | { readonly base64: string; readonly type: string; readonly bytes: number }
  | { readonly file_id: string }
  | { readonly url: string };

export interface MediaFault {
  readonly msg: string;
  readonly type: string;
}

const WHAT = { audio: "a recording", image: "an image" } as const;
const DATA_URI = /^data:[^,]{0,200},/i;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/** The ID of the upload that an audio or image input refers to. */
export function uploadedFile(value: unknown): string | undefined {
  const text = typeof value === "string" && value.length < 100 ? value.trim() : "";
  return isUuid(text) ? text.toLowerCase() : undefined;
}

/** Reads the value of an input of `kind`. The content determines the type, not a data URI. */
export function readMedia(
  kind: MediaKind,
  value: string,
  { maxBytes, types = MEDIA_TYPES[kind] }: { readonly maxBytes: number; readonly types?: readonly string[] },
): MediaSource | MediaFault {
  const file_id = uploadedFile(value);
  if (file_id !== undefined) return { file_id };
  const text = value.trim();
  if (/^https?:/i.test(text.slice(0, 10))) {
    if (kind === "image" && isWebAddress(text)) return { url: text };
    const msg = kind === "image" ? "Send a complete URL" : "Recordings must be sent as base64, or uploaded first";
    return { msg, type: "url_parsing" };
  }
  const heading = DATA_URI.exec(text.slice(0, 210))?.[0];
  if (heading !== undefined && !/;base64,$/i.test(heading)) {
    return { msg: "A data URI must contain base64: data:<type>;base64,<content>", type: "base64" };
  }
  const base64 = text.slice(heading?.length ?? 0).replaceAll(/\s+/g, "");
  if (base64 === "" || !BASE64.test(base64) || base64.replace(/={1,2}$/, "").length % 4 === 1) {
    const others = kind === "image" ? "a URL, or the ID of an uploaded file" : "or the ID of an uploaded file";
    return { msg: `This is not ${WHAT[kind]}: send base64 (or a data URI), ${others}`, type: "base64" };
  }
  const bytes = Math.floor((base64.replace(/={1,2}$/, "").length * 3) / 4);
  if (bytes > maxBytes) {
    return { msg: `This input has ${bytes} bytes when decoded; at most ${maxBytes} are allowed`, type: "too_large" };
  }
  const head = atob(base64.slice(0, Math.ceil(MEDIA_PROBE_BYTES / 3) * 4));
  const type = mediaType(
    kind,
    Uint8Array.from(head, (char) => char.charCodeAt(0)),
  );
  if (type === null || !types.includes(type)) {
    return {
      msg: `The content is not ${WHAT[kind]} of a supported type: ${types.join(", ")}`,
      type: "media_type",
    };
  }
  return { base64, type, bytes };
}

/** Whether a type is that of a supported recording or image. */
export function isMediaType(type: string): boolean {
  return MEDIA_KINDS.some((kind) => MEDIA_TYPES[kind].includes(type));
}
