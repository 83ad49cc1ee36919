import type { HttpConfig } from "../../src/domain/flow/nodes/http.ts";
import type { Json } from "../../src/domain/json.ts";
import type { GuardedRequest } from "../../src/platform/fetch/guarded-fetch.ts";
import {
  isSecretHeader,
  isSecretName,
  MASK,
  redactJson,
  redactSecrets,
  redactUrl,
} from "../../src/platform/logging/redaction.ts";
import { renderInside } from "./templates.ts";

/** A fully rendered request. */
export interface RenderedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The body in a form for people: text, or a JSON value. */
  readonly body: Json | undefined;
}

/** A longer body (bytes of JSON) is not shown to people. */
const SHOWN_BODY_BYTES = 64 * 1024;

/**
 * Builds the request of an `http` node; `rendered` has the text of each of its templates. These texts are data: the URL
 * is parsed after rendering, parameters are encoded, and a JSON body is rendered string by string, so that no value can
 * end the string around it.
 */
export function renderRequest(
  config: HttpConfig,
  rendered: ReadonlyMap<string, string>,
  defaults: Readonly<Record<string, string>>,
): RenderedRequest {
  const render = (source: string): string => rendered.get(source) ?? "";
  const headers = new Map(Object.entries(defaults));
  const body = config.body === undefined ? undefined : renderInside(config.body, rendered);
  if (body !== undefined) headers.set("content-type", contentType(body));
  for (const [name, source] of Object.entries(config.headers)) headers.set(name.toLowerCase(), render(source));
  const query = Object.entries(config.query).map(([name, source]): [string, string] => [name, render(source)]);
  return {
    method: config.method,
    url: withQuery(render(config.url).trim(), new URLSearchParams(query).toString()),
    headers: Object.fromEntries(headers),
    body,
  };
}

/** The request as it is sent. */
export function outgoing({ method, url, headers, body }: RenderedRequest): GuardedRequest {
  const request = { method, url, headers, secretHeaders: Object.keys(headers).filter(isSecretHeader) };
  return body === undefined ? request : { ...request, body: typeof body === "string" ? body : JSON.stringify(body) };
}

/** The request in a form for people. */
export function requestPreview({ method, url, headers, body }: RenderedRequest): Json {
  const masked = Object.entries(headers).map(([name, value]) => [
    name,
    isSecretHeader(name) ? MASK : redactSecrets(value),
  ]);
  const request = { method, url: redactUrl(url), headers: Object.fromEntries(masked) as Record<string, string> };
  if (body === undefined) return request;
  const bytes = Buffer.byteLength(JSON.stringify(body));
  return { ...request, body: bytes > SHOWN_BODY_BYTES ? `[${bytes} bytes]` : redactJson(body) };
}

/** Values that are masked in messages, because a service may echo its request. */
export function secretsOf({ url, headers }: RenderedRequest): string[] {
  const inHeaders = Object.entries(headers).flatMap(([name, value]) =>
    isSecretHeader(name) ? [value, ...value.split(/\s+/)] : [],
  );
  const inQuery = URL.canParse(url)
    ? [...new URL(url).searchParams].flatMap(([name, value]) => (isSecretName(name) || name === "key" ? [value] : []))
    : [];
  // Masking shorter values would make messages unreadable.
  return [...inHeaders, ...inQuery].filter((value) => value.length >= 6);
}

function contentType(body: Json): string {
  return typeof body === "string" ? "text/plain; charset=utf-8" : "application/json";
}

/** Appends parameters and leaves the URL's existing query unchanged, because a signature may cover it byte by byte. */
export function withQuery(url: string, query: string): string {
  if (query === "") return url;
  const [, address = "", fragment = ""] = /^([^#]*)(#.*)?$/s.exec(url) ?? [];
  const joint = !address.includes("?") ? "?" : /[?&]$/.test(address) ? "" : "&";
  return address + joint + query + fragment;
}
