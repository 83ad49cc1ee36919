import type { Json } from "../../domain/json.ts";

/** Replaces a secret. */
export const MASK = "[redacted]";

/** How deep a value is searched; anything deeper is masked. */
const MAX_DEPTH = 100;

// "tokens" is a count, "token" a credential; neither "author" nor "secretary" names a secret.
const SECRET_WORDS = [
  "pass(?:word|wd|phrase)",
  "pwd",
  "secret(?!ar)",
  "token(?!s|iz|_count|_type|_limit|_usage)",
  "(?:api|access|private|signing|subscription|encryption)[_-]?key",
  "authorization",
  "credential",
  "cookie",
  "signature",
  "session[_-]?id",
  "connection[_-]?string",
  "(?<![A-Za-z])auth(?!or)",
].join("|");
const SECRET_NAME = new RegExp(SECRET_WORDS, "i");
const COUNT_NAME = /^(?:max|min|num|total|prompt|completion|input|output)[_-]?token$/i;

// Hostile text must cost linear time: patterns that could match at every character are bounded, and the others start at a rare character.
const PATTERNS: ReadonlyArray<readonly [RegExp, string]> = [
  // Keys and tokens of Millrace, and signing secrets of webhooks.
  [/\b(mr_[a-z]{2,4}_|whsec_)[A-Za-z0-9_+/=-]{8,}/g, `$1${MASK}`],
  [/-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[^"]*?(?:-----END [A-Z ]{0,30}PRIVATE KEY-----|$|(?="))/g, MASK],
  // Whole Authorization and Cookie headers of any scheme, up to the end of the line or of the enclosing string.
  [/\b((?:authorization|cookie)\\{0,3}["']?\s{0,3}[:=]\s{0,3}\\{0,3}["']?)[^"'\\\r\n]{1,8192}/gi, `$1${MASK}`],
  // Scheme names are also ordinary words, so the text after them has to look like a credential.
  [
    /\b(Bearer|Token|ApiKey)(\s{1,3})(?=[A-Za-z._~+/-]{0,200}[0-9_=]|[A-Za-z0-9._~+/-]{20})[A-Za-z0-9._~+/-]+=*/gi,
    `$1$2${MASK}`,
  ],
  [/\b(Basic)(\s{1,3})(?=[a-z]{0,200}[0-9A-Z+/=])[A-Za-z0-9+/]{4,}=*/g, `$1$2${MASK}`],
  // user:password@ in a URL, up to the last @ before the path.
  [/(:\/\/)[^\s/?#"'\\<>]{1,512}@/g, `$1${MASK}@`],
  // Well-known shapes: keys of OpenAI, Anthropic and Stripe, GitHub, Slack, AWS.
  [/\b(?:sk|rk)[-_][A-Za-z0-9_-]{16,}/g, MASK],
  [/\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_[A-Za-z0-9_]{20,}/g, MASK],
  [/\bxox[a-z]-[A-Za-z0-9-]{10,}|\bAKIA[0-9A-Z]{16}\b/g, MASK],
  // `key` and `sig` alone are secrets only in a query.
  [/([?&](?:key|sig)=)[^\s&"'\\<>#]+/gi, `$1${MASK}`],
];

// A JWT is three words separated by dots, so it is looked for only at the beginning of a word.
const DOTTED = /(?<![A-Za-z0-9_-])[A-Za-z0-9_-]{11,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*/g;

/** Keeps the part of the word before the JWT. */
function maskToken(words: string): string {
  const at = /\beyJ[A-Za-z0-9_-]{8}/.exec(words)?.index ?? -1;
  return at === -1 || at > words.indexOf(".") ? words : words.slice(0, at) + MASK;
}

// name=value, name: value, "name":"value", and the same inside a JSON string, where quotes are escaped.
const NAME = `(?<![A-Za-z0-9_-])([A-Za-z0-9_-]{0,40}(?:${SECRET_WORDS})[A-Za-z0-9_-]{0,40})`;
const BETWEEN = `(\\\\{0,3}["']?\\s{0,3}(?:=>|=|:)\\s{0,3})`;
const VALUE = `("(?:[^"\\\\]|\\\\.)*"|'(?:[^'\\\\]|\\\\.)*'|\\\\{1,3}["'][^"'\\\\]*|[^\\s"'\\\\&,;{}[\\]()<>]+)`;
const ASSIGNMENT = new RegExp(NAME + BETWEEN + VALUE, "gi");

/**
 * Scrubs secrets out of text before it is stored, logged or sent: keys and tokens of Millrace, Authorization values, user and password of
 * URLs, secret parameters and fields by name, and token formats of well-known services. JSON stays JSON. Secrets of unknown format and name
 * are not found: this is a second line of defence.
 */
export function redactSecrets(text: string): string {
  let clean = text;
  for (const [pattern, replacement] of PATTERNS) clean = clean.replace(pattern, replacement);
  clean = clean.replace(DOTTED, maskToken);
  return clean.replace(ASSIGNMENT, (whole, name: string, between: string, value: string) => {
    if (COUNT_NAME.test(name) || /^(?:null|true|false|undefined)$/.test(value)) return whole;
    const quote = value[0] === '"' || value[0] === "'" ? value[0] : "";
    // The match of an escaped value includes only the opening quote, and a bare value (a number in JSON) has no quotes.
    const opening = quote || (/^\\+["']/.exec(value)?.[0] ?? "");
    const missing = opening === "" ? (/^\\*["']/.exec(between)?.[0] ?? "") : "";
    return `${name}${between}${missing}${opening}${MASK}${quote}${missing}`;
  });
}

/** Whether a parameter or field of this name contains a secret. */
export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name) && !COUNT_NAME.test(name);
}

/** Whether a header of this name contains a secret; unlike fields, nearly all headers called a key do. */
export function isSecretHeader(name: string): boolean {
  return isSecretName(name) || (/key$/i.test(name) && name.toLowerCase() !== "idempotency-key");
}

/** A copy of a JSON value for people to read: fields with secret names are masked as a whole, all other text is scrubbed. */
export function redactJson(value: Json): Json {
  return scrub(value, 0);
}

function scrub(value: Json, depth: number): Json {
  if (typeof value === "string") return redactSecrets(value);
  if (typeof value !== "object" || value === null) return value;
  if (depth >= MAX_DEPTH) return MASK;
  if (Array.isArray(value)) return value.map((item: Json) => scrub(item, depth + 1));
  const members = Object.entries(value as Readonly<Record<string, Json>>);
  // Unlike assignment, `fromEntries` keeps a key "__proto__" as an ordinary key.
  return Object.fromEntries(
    members.map(([key, item]) => {
      const secret = isSecretName(key) && item !== null && typeof item !== "boolean";
      return [key, secret ? MASK : scrub(item, depth + 1)];
    }),
  );
}

/** A URL for people to read: without user and password, and with secret parameters masked. Text that is not a URL is scrubbed as text. */
export function redactUrl(text: string): string {
  if (!URL.canParse(text)) return redactSecrets(text);
  const url = new URL(text);
  url.username = "";
  url.password = "";
  for (const name of new Set(url.searchParams.keys())) {
    if (isSecretName(name) || /^(?:key|sig)$/i.test(name)) url.searchParams.set(name, MASK);
  }
  return redactSecrets(url.href.replaceAll("%5Bredacted%5D", MASK));
}
