import type { Json, JsonObject } from "../../domain/json.ts";
import { isSecretHeader, isSecretName, MASK, redactSecrets } from "./redaction.ts";

// A caller who may change a flow, trigger or evaluator sees its text unchanged; other callers see it without secrets.

/** Fields whose strings are sent to other services. */
const SENT = new Set(["headers", "query", "body", "inputs", "fixed_inputs"]);
/** An inserted expression of a template. Quoted text inside the expression is literal. */
const INSERTED = /\{\{[^{}"']*\}\}|\{%[^{}"']*%\}/g;
/** Text that may precede an inserted credential. */
const SCHEMES = new Set(["", "bearer", "basic", "digest", "token", "apikey"]);

/** The location of a header whose value is a literal credential. */
type OnHeader = (path: ReadonlyArray<string | number>) => void;

/** A copy of a definition with its literal credentials masked: secret headers and inputs, user and password in URLs, secret parameters. */
export function maskLiterals<T extends JsonObject>(value: T): T {
  return masked(value, { path: [], sent: false, headers: false }, () => undefined) as T;
}

/** The locations of headers with a literal credential. */
export function literalHeaders(value: JsonObject): ReadonlyArray<ReadonlyArray<string | number>> {
  const found: Array<ReadonlyArray<string | number>> = [];
  masked(value, { path: [], sent: false, headers: false }, (path) => found.push(path));
  return found;
}

interface Place {
  readonly path: ReadonlyArray<string | number>;
  readonly sent: boolean;
  /** Whether the fields are headers. */
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
  // Unlike assignment, `fromEntries` keeps a key "__proto__" as an ordinary key.
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

/** Whether a value contains literal text, rather than only inserted expressions. */
function isWritten(text: string): boolean {
  const rest = text.replace(INSERTED, "");
  if (rest === text) return text.trim() !== "";
  // Schemes such as "Bearer", and names of cookies and parameters, are not secrets.
  return rest.split(/[\s;,:]/).some((word) => !SCHEMES.has(word.toLowerCase()) && !word.endsWith("="));
}

/** Path segments of at least this many characters that contain digits and letters are probably not words, so they may be secrets. */
const MIN_TOKEN_CHARS = 16;
/** Services whose URLs are credentials: every path segment after this many is secret. */
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

/** What in a URL may be secret: user, password, values of parameters, and path segments that are not words. */
export function secretsOfAddress(address: string): string[] {
  if (!URL.canParse(address)) return [];
  const url = new URL(address);
  const parts = url.pathname.split("/").filter((part, at) => isToken(url, part, at));
  return [url.username, url.password, ...url.searchParams.values(), ...parts].filter(
    (text) => text !== "" && text !== MASK,
  );
}

/** A URL without user, password, values of parameters and path segments that are not words, because each of these may be secret. */
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

/** Whether the path segment at this position, from 1, may be secret. */
function isToken({ hostname }: URL, part: string, at: number): boolean {
  if (part === "") return false;
  if (at > (TOKENS_AFTER.get(hostname) ?? Infinity)) return true;
  return part.length >= MIN_TOKEN_CHARS && /[0-9]/.test(part) && /[a-z]/i.test(part);
}
