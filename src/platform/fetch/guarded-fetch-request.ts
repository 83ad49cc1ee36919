import { FetchRefused } from "./guarded-fetch-errors.ts";

/** The body of a request; a stream is sent as it arrives. */
export type RequestBody = string | Uint8Array | AsyncIterable<Uint8Array>;

/** One hop: what is sent to which URL. Header names are lower-case. */
export interface Hop {
  readonly url: URL;
  readonly method: string;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: RequestBody | undefined;
}

const METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
// Visible characters, blanks and obs-text: no CR, LF, NUL, and nothing that latin-1 would truncate into one of them.
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
/** Headers that frame the message or choose the server: they follow from the URL and the body, never from a flow. */
export const RESERVED_HEADERS: ReadonlySet<string> = new Set([
  "connection",
  "content-length",
  "expect",
  "host",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);
const CREDENTIALS: ReadonlySet<string> = new Set(["authorization", "cookie", "proxy-authorization"]);
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** Reads a URL for an outbound request. Throws FetchRefused: not a URL, not http(s), or with a user or password in it. */
export function outboundUrl(text: string, base?: URL): URL {
  // The URL parser would silently drop tabs and line breaks, so the URL sent would not be the URL checked.
  // eslint-disable-next-line no-control-regex
  if (/[\u0000-\u001f\u007f]/.test(text) || !URL.canParse(text, base?.href)) {
    throw new FetchRefused("invalid_url", "The URL is not valid.");
  }
  const url = new URL(text, base);
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw new FetchRefused("scheme_not_allowed", `Only http and https URLs are allowed, not ${url.protocol}`);
  }
  if (url.username !== "" || url.password !== "") {
    throw new FetchRefused(
      "credentials_in_url",
      "A user name or password in a URL is not allowed: use an Authorization header.",
    );
  }
  url.hash = "";
  return url;
}

/** Checks the method. Throws FetchRefused. */
export function outboundMethod(method: string): string {
  const upper = method.toUpperCase();
  if (!METHODS.has(upper)) {
    throw new FetchRefused("invalid_method", `The method must be one of ${[...METHODS].join(", ")}.`);
  }
  return upper;
}

/** Checks names and values of headers and lower-cases the names. Throws FetchRefused, naming the header and never its value. */
export function outboundHeaders(headers: Readonly<Record<string, string>>): Map<string, string> {
  const checked = new Map<string, string>();
  for (const [name, value] of Object.entries(headers)) {
    if (!TOKEN.test(name))
      throw new FetchRefused("invalid_header", "The header name contains characters that are not allowed.");
    const key = name.toLowerCase();
    if (RESERVED_HEADERS.has(key)) throw new FetchRefused("invalid_header", `The header ${key} cannot be set.`);
    if (!VALUE.test(value)) {
      throw new FetchRefused(
        "invalid_header",
        `The value of the header ${key} contains characters that are not allowed.`,
      );
    }
    if (checked.has(key)) throw new FetchRefused("invalid_header", `The header ${key} is set twice.`);
    checked.set(key, value);
  }
  return checked;
}

/**
 * The hop that a redirect leads to, or undefined if the response is not a redirect. Throws FetchRefused for a target that is not allowed.
 * Credentials and `secret` headers do not survive a change of origin; methods change as the Fetch standard says.
 */
export function redirectHop(
  hop: Hop,
  status: number,
  location: string | undefined,
  secret: ReadonlySet<string>,
): Hop | undefined {
  if (!REDIRECTS.has(status) || location === undefined) return undefined;
  const url = outboundUrl(location, hop.url);
  if (hop.url.protocol === "https:" && url.protocol === "http:") {
    throw new FetchRefused(
      "insecure_redirect",
      `${hop.url.origin} redirects from https to http, which is not followed.`,
    );
  }
  const headers = new Map(hop.headers);
  if (url.origin !== hop.url.origin) {
    for (const name of headers.keys()) if (CREDENTIALS.has(name) || secret.has(name)) headers.delete(name);
  }
  const becomesGet =
    (status === 303 && hop.method !== "GET" && hop.method !== "HEAD") ||
    ((status === 301 || status === 302) && hop.method === "POST");
  if (!becomesGet && isStream(hop.body)) {
    throw new FetchRefused(
      "body_not_repeatable",
      `${hop.url.origin} redirects, but the request's body cannot be sent again.`,
    );
  }
  if (!becomesGet) return { ...hop, url, headers };
  for (const name of headers.keys()) if (name.startsWith("content-")) headers.delete(name);
  return { url, method: "GET", headers, body: undefined };
}

/** Whether a body can be sent only once. */
export function isStream(body: RequestBody | undefined): body is AsyncIterable<Uint8Array> {
  return typeof body === "object" && !(body instanceof Uint8Array);
}
