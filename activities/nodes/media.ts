import { NodeFailure } from "../../src/domain/runs/failure.ts";
import { MEDIA_PROBE_BYTES, MEDIA_TYPES, mediaType, readMedia, type MediaKind } from "../../src/domain/media/media.ts";
import { BlobNotFound, readPart } from "../../src/platform/blobs/blobs.ts";
import { findUpload, noUpload, type UploadReader } from "../../src/services/documents/find-upload.ts";
import type { Parts } from "../../src/services/parts.ts";
import { UNTIL_STOPPED } from "../fetch-limits.ts";
import { fetchOk } from "./http-response.ts";

/** A loaded recording or picture. */
export interface Media {
  readonly bytes: Buffer;
  readonly type: string;
}

/** The node that reads a recording or picture. */
export interface MediaReader extends UploadReader {
  readonly signal: AbortSignal;
}

/** Loads the file that an input or expression names; throws NodeFailure if it does not exist or is of another media kind. */
export type LoadMedia = (kind: MediaKind, value: string, reader: MediaReader) => Promise<Media>;

export interface MediaDeps extends Parts<"db" | "blobs" | "guardedFetch" | "version"> {
  readonly maxBytes: number;
}

export function createLoadMedia({ db, blobs, guardedFetch, version, maxBytes }: MediaDeps): LoadMedia {
  async function uploaded(fileId: string, reader: MediaReader): Promise<Buffer> {
    const file = await findUpload(db, fileId, reader);
    if (!file) throw new NodeFailure("file_not_found", `${noUpload(fileId, reader)}.`);
    if (file.size > maxBytes) {
      const message = `The file has ${file.size} bytes; at most ${maxBytes} are allowed.`;
      throw new NodeFailure("file_too_large", message);
    }
    try {
      return await readPart(blobs, file.blob_key);
    } catch (error) {
      if (!(error instanceof BlobNotFound)) throw error;
      throw new NodeFailure("file_not_found", `The content of file ${fileId} no longer exists. Upload it again.`);
    }
  }

  async function fetched(url: string, signal: AbortSignal): Promise<Buffer> {
    const limits = { ...UNTIL_STOPPED, responseBytes: maxBytes };
    const headers = { accept: "image/*", "user-agent": `Millrace/${version}` };
    return (await fetchOk(guardedFetch, { url, headers, limits, signal })).body;
  }

  return async (kind, value, reader) => {
    const source = readMedia(kind, value, { maxBytes });
    if ("msg" in source) throw new NodeFailure("unsupported_type", `${source.msg}.`);
    if ("base64" in source) return { bytes: Buffer.from(source.base64, "base64"), type: source.type };
    const bytes = "url" in source ? await fetched(source.url, reader.signal) : await uploaded(source.file_id, reader);
    const type = mediaType(kind, bytes.subarray(0, MEDIA_PROBE_BYTES));
    if (type !== null) return { bytes, type };
    const what = `Its content must be one of ${MEDIA_TYPES[kind].join(", ")}.`;
    throw new NodeFailure("unsupported_type", `The input cannot be read. ${what}`);
  };
}
