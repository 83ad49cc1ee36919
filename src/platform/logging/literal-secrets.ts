import type { Json, JsonObject } from "../../domain/json.ts";
import { isSecretHeader, isSecretName, MASK, redactSecrets } from "./redaction.ts";

// A caller who may change a flow, trigger or evaluator sees its texts whole; others see them without secrets.

/** Members whose strings are sent to other services. */
const SENT = new Set(["headers", "query", "body", "inputs", "fixed_inputs"]);
/** The inserted part of a template. Quoted text inside it was written there. */
const INSERTED = /\{\{[^{}"']*\}\}|\{%[^{}"']*%\}/g;
/** What may stand before an inserted credential. */
const SCHEMES = new Set(["", "bearer", "basic", "digest", "token", "apikey"]);

/** The place of a header whose value is a literal credential. */
type OnHeader = (path: ReadonlyArray<string | number>) => void;

/**
 * A copy of a definition with its literal credentials masked: secret headers and inputs, user and password of
 * addresses, secret parameters.
 */
export function maskLiterals<T extends JsonObject>(value: T): T {
  return masked(value, { path: [], sent: false, headers: false }, () => undefined) as T;
}

/** The places of headers with a literal credential. */
export function literalHeaders(value: JsonObject): ReadonlyArray<ReadonlyArray<string | number>> {
  const found: Array<ReadonlyArray<string | number>> = [];
  masked(value, { path: [], sent: false, headers: false }, (path) => found.push(path));
  return found;
}

interface Place {
  readonly path: ReadonlyArray<string | number>;
  readonly sent: boolean;
  /** Whether the members are headers. */
  readonly headers: boolean;
}

function masked(value: Json, place: Place, onHeader: OnHeader): Json {
  if (typeof value === "string") return maskedText(value, place, onHeader);
  if (typeof value !== "object" || value === null) return value;
  const below = (key: string | number): Place => ({
    path: [...place.path, key],
    sent: place.sent || SENT.has(String(key)),
    headers: key === "headers",
  });
  if (Array.isArray(value))
    return value.map((each: Json, at) => masked(each, { ...below(at), headers: false }, onHeader));
  const members = Object.entries(value as JsonObject);
  // fromEntries defines members, so that a key "__proto__" stays a key.
  return Object.fromEntries(
    members.map(([key, each]) => {
      const inner = typeof each === "string" ? { ...below(key), headers: place.headers } : below(key);
      return [key, masked(each, inner, onHeader)];
    }),
  );
}

function maskedText(text: string, { path, sent, headers }: Place, onHeader: OnHeader): string {
  const name = String(path.at(-1));
  if (headers && isSecretHeader(name) && isWritten(text)) {
    onHeader(path);
    return MASK;
  }
  if (sent && (isSecretName(name) || /^(?:key|sig)$/i.test(name)) && isWritten(text)) return MASK;
  return sent || text.includes("://") ? redactSecrets(text) : text;
}

/** Whether a value, or part of it, is literal and not only inserted from elsewhere. */
function isWritten(text: string): boolean {
  const rest = text.replace(INSERTED, "");
  if (rest === text) return text.trim() !== "";
  // Schemes, and the names of cookies and parameters.
  return rest.split(/[\s;,:]/).some((word) => !SCHEMES.has(word.toLowerCase()) && !word.endsWith("="));
}

/** Parts of a path as long as this (characters), with digits and letters, are no words: they may be what lets a caller in. */
const MIN_TOKEN_CHARS = 16;
/** Services whose addresses are credentials: everything in the path after so many parts. */
const TOKENS_AFTER: ReadonlyMap<string, number> = new Map([
  ["hooks.slack.com", 1],
  ["hooks.slack-gov.com", 1],
  ["hooks.zapier.com", 2],
  ["hook.eu1.make.com", 0],
  ["hook.eu2.make.com", 0],
  ["hook.us1.make.com", 0],
  ["hook.us2.make.com", 0],
  ["discord.com", 2],
  ["discordapp.com", 2],
  ["api.telegram.org", 0],
  ["maker.ifttt.com", 2],
  ["webhook.site", 0],
]);

/** What in an address may be a secret: user, password, values of parameters, and parts of the path that are no words. */
export function secretsOfAddress(address: string): string[] {
  if (!URL.canParse(address)) return [];
  const url = new URL(address);
  const parts = url.pathname.split("/").filter((part, at) => isToken(url, part, at));
  return [url.username, url.password, ...url.searchParams.values(), ...parts].filter(
    (text) => text !== "" && text !== MASK,
  );
}

/** An address without user, password, values of parameters and parts of the path that are no words: any of them may be a secret. */
export function maskAddress(address: string): string {
  if (!URL.canParse(address)) return MASK;
  const url = new URL(address);
  url.username = "";
  url.password = "";
  url.pathname = url.pathname
    .split("/")
    .map((part, at) => (isToken(url, part, at) ? MASK : part))
    .join("/");
  for (const name of new Set(url.searchParams.keys())) url.searchParams.set(name, MASK);
  return redactSecrets(url.href.replaceAll("%5Bredacted%5D", MASK));
}

/** Whether the part of the path at this place, from 1, may be a secret. */
function isToken({ hostname }: URL, part: string, at: number): boolean {
  if (part === "") return false;
  if (at > (TOKENS_AFTER.get(hostname) ?? Infinity)) return true;
  return part.length >= MIN_TOKEN_CHARS && /[0-9]/.test(part) && /[a-z]/i.test(part);
}
