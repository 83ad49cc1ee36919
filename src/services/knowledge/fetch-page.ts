import { createHash } from "node:crypto";
import { ResourceFailure } from "../../domain/knowledge/resource-failure.ts";
import type { GuardedResponse } from "../../platform/fetch/guarded-fetch.ts";
import { FetchFailed, FetchRefused } from "../../platform/fetch/guarded-fetch-errors.ts";
import { charsetIn } from "../../platform/parsing/decode-text.ts";
import { SUPPORTED_MIME_TYPES, detectMime, isImageMime, isSupportedMime } from "../../platform/parsing/mime.ts";
import type { Parts } from "../parts.ts";

const ACCEPT = "text/html, application/xhtml+xml, application/pdf, text/*;q=0.9, application/json;q=0.9, */*;q=0.5";

export interface PageDeps extends Parts<"guardedFetch" | "version"> {
  /** Longest file, in bytes. */
  readonly maxBytes: number;
}

/** Validators of an earlier response, with which the server sends the content only if it has changed. */
export interface PageVersion {
  readonly etag: string | null;
  readonly last_modified: string | null;
}

/** A page or file fetched from a URL. */
export interface FetchedPage extends PageVersion {
  readonly outcome: "fetched";
  /** The final URL after redirects. */
  readonly url: string;
  readonly body: Buffer;
  /** SHA-256, as hexadecimal digits. */
  readonly content_hash: string;
  readonly content_mime: string;
}

export type PageAnswer =
  | FetchedPage
  | { readonly outcome: "not_modified" }
  /** The page does not exist: 404 or 410. */
  | { readonly outcome: "missing"; readonly error: ResourceFailure };

export interface PageRequest {
  readonly url: string;
  readonly known: PageVersion | null;
  readonly signal: AbortSignal;
  readonly beforeRedirect?: (url: string) => Promise<void>;
}

/** Fetches a page or file and detects its type. Throws ResourceFailure, which says whether a retry could help. */
export async function fetchPage(
  { guardedFetch, version, maxBytes }: PageDeps,
  { known, ...request }: PageRequest,
): Promise<PageAnswer> {
  const headers = {
    accept: ACCEPT,
    "user-agent": `Millrace/${version}`,
    ...(known?.etag == null ? {} : { "if-none-match": known.etag }),
    ...(known?.last_modified == null ? {} : { "if-modified-since": known.last_modified }),
  };
  let response: GuardedResponse;
  try {
    response = await guardedFetch.fetch({ ...request, headers, limits: { responseBytes: maxBytes } });
  } catch (error) {
    throw asResourceFailure(error);
  }
  const { status, body } = response;
  if (status === 304 && known !== null) return { outcome: "not_modified" };
  if (status < 200 || status > 299) {
    const retryable = status >= 500 || status === 429 || status === 408;
    const error = new ResourceFailure("http_status", `${new URL(response.url).origin} returned status ${status}.`, {
      retryable,
    });
    if (status === 404 || status === 410) return { outcome: "missing", error };
    throw error;
  }
  // The file name in a URL says little (page.php, /download), so the content and the declared type decide.
  return fetchedPage({ url: response.url, name: null, headers: response.headers, body });
}

/**
 * The bytes with their type; the type of a file also depends on its name. Throws ResourceFailure if no text of that
 * type can be read.
 */
export function fetchedPage({
  url,
  name,
  headers,
  body,
}: Pick<GuardedResponse, "url" | "headers" | "body"> & { readonly name: string | null }): FetchedPage {
  if (body.length === 0) throw new ResourceFailure("document_empty", "The response has an empty body.");
  const declared = headers["content-type"] ?? null;
  const mime = detectMime(name, declared, body);
  if (!isSupportedMime(mime) && !isImageMime(mime)) {
    const message = `Files of type ${mime} are not supported. Supported types: ${SUPPORTED_MIME_TYPES.join(", ")}.`;
    throw new ResourceFailure("unsupported_type", message);
  }
  const charset = charsetIn(declared ?? "");
  return {
    outcome: "fetched",
    url,
    body,
    content_hash: createHash("sha256").update(body).digest("hex"),
    content_mime: charset === null ? mime : `${mime}; charset=${charset}`,
    etag: validator(headers["etag"]),
    last_modified: validator(headers["last-modified"]),
  };
}

/** Why a request to a URL failed, for the person who entered it. Rethrows any other error. */
export function asResourceFailure(error: unknown): unknown {
  if (error instanceof FetchRefused) return new ResourceFailure("http_refused", error.message, { cause: error });
  if (!(error instanceof FetchFailed)) return error;
  const code = error.code === "response_too_large" ? "document_too_large" : "http_failed";
  return new ResourceFailure(code, error.message, { cause: error, retryable: error.retryable });
}

/** A validator to send back unchanged; null if a header cannot carry it. */
function validator(value: string | undefined): string | null {
  return value !== undefined && /^[\x20-\x7e]{1,500}$/.test(value) ? value : null;
}
