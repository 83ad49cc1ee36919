import type { SentEvent } from "../../api/webhooks.ts";

/** Clock difference that Standard Webhooks allows (s). */
const TOLERANCE_SECONDS = 300;
const MARK = "whsec_";
const MIN_SECRET_BYTES = 24;
const MAX_SECRET_BYTES = 64;
const NAMES = ["webhook-id", "webhook-timestamp", "webhook-signature"] as const;

/** One part of a delivery, and whether it agrees with the others. */
export interface Finding {
  readonly part: "Headers" | "Timestamp" | "Secret" | "Signature" | "Body";
  readonly agrees: boolean;
  readonly text: string;
}

export interface Received {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly secret: string;
  /** When the delivery arrived (ms since 1970). */
  readonly at: number;
}

/** Parses headers as logs print them: one per line, or one JSON object. Names become lower case. */
export function parseHeaders(text: string): Record<string, string> {
  const given = membersOf(text) ?? text.split(/\r?\n/).map(lineOf);
  return Object.fromEntries(given.filter(([name]) => name !== ""));
}

function membersOf(text: string): Array<[string, string]> | null {
  if (!text.trimStart().startsWith("{")) return null;
  try {
    const members = Object.entries(JSON.parse(text) as object);
    return members.map(([name, value]) => [name.toLowerCase(), String(value)]);
  } catch {
    return null;
  }
}

/** Parses `name: value`, also in the form of a curl argument. */
function lineOf(line: string): [string, string] {
  const at = line.indexOf(":");
  const bare = (part: string): string =>
    part
      .trim()
      .replace(/^(?:-H +)?['"]?/, "")
      .replace(/['"]?,?(?: *\\)?$/, "");
  return at === -1 ? ["", ""] : [bare(line.slice(0, at)).toLowerCase(), bare(line.slice(at + 1))];
}

/** Finds which parts of a delivery match the signature. Only with `sent` can it tell a changed body from a wrong secret. */
export async function checkSignature(received: Received, sent: SentEvent | null): Promise<Finding[]> {
  const { headers, at } = received;
  const missing = NAMES.filter((name) => !headers[name]);
  if (missing.length > 0) return [{ part: "Headers", agrees: false, text: `Missing: ${missing.join(", ")}.` }];
  const secret = received.secret.trim();
  const secretFault = faultOfSecret(secret);
  const timestamp = checkTimestamp(headers["webhook-timestamp"] ?? "", at, sent);
  if (secretFault !== null) return [timestamp, { part: "Secret", agrees: false, text: secretFault }];
  return [timestamp, ...(await checkParts({ ...received, secret }, sent))];
}

function checkTimestamp(text: string, at: number, sent: SentEvent | null): Finding {
  const finding = (agrees: boolean, said: string): Finding => ({ part: "Timestamp", agrees, text: said });
  if (!/^\d{1,12}$/.test(text)) return finding(false, "Not a number of seconds since 1970 (Unix time).");
  if (sent && !sent.signedAt.includes(Number(text)))
    return finding(false, "No attempt of this delivery has that timestamp. It was changed.");
  const age = at / 1000 - Number(text);
  const minutes = TOLERANCE_SECONDS / 60;
  if (age > TOLERANCE_SECONDS)
    return finding(
      false,
      `Too old: signed ${spoken(age)} before it arrived. Receivers accept up to ${minutes} minutes.`,
    );
  if (age < -TOLERANCE_SECONDS)
    return finding(false, `In the future: signed ${spoken(-age)} after it arrived. One of the two clocks is wrong.`);
  return finding(true, "Recent enough when it arrived.");
}

const UNITS = [
  [86_400, "days"],
  [3600, "hours"],
  [60, "minutes"],
] as const;

function spoken(seconds: number): string {
  const [size, name] = UNITS.find(([each]) => seconds >= 2 * each) ?? [1, "seconds"];
  return `${Math.floor(seconds / size).toLocaleString()} ${name}`;
}

function faultOfSecret(secret: string): string | null {
  if (!secret.startsWith(MARK)) return `Does not start with ${MARK}. Copy the complete secret.`;
  const length = keyOf(secret)?.length ?? 0;
  if (length >= MIN_SECRET_BYTES && length <= MAX_SECRET_BYTES) return null;
  return `Not the base64 of ${MIN_SECRET_BYTES} to ${MAX_SECRET_BYTES} bytes. Part of it is missing or changed.`;
}

function keyOf(secret: string): Uint8Array<ArrayBuffer> | null {
  try {
    return Uint8Array.from(atob(secret.slice(MARK.length)), (each) => each.codePointAt(0) ?? 0);
  } catch {
    return null;
  }
}

async function checkParts({ headers, body, secret }: Received, sent: SentEvent | null): Promise<Finding[]> {
  const given = (headers["webhook-signature"] ?? "")
    .split(/\s+/)
    .flatMap((each) => (each.startsWith("v1,") ? [each.slice(3)] : []));
  if (given.length === 0)
    return [{ part: "Signature", agrees: false, text: "No version 1 signature found. It starts with v1 and a comma." }];
  const key = await crypto.subtle.importKey(
    "raw",
    keyOf(secret) ?? new Uint8Array(),
    { name: "HMAC", hash: "SHA-256" },
    false,
    ["sign"],
  );
  // With a changed timestamp no signature is valid, so the other parts are checked with the timestamps that were signed.
  const claimed = Number(headers["webhook-timestamp"]);
  const times = sent && !sent.signedAt.includes(claimed) ? sent.signedAt : [headers["webhook-timestamp"]];
  const holdsFor = async (text: string): Promise<boolean> => {
    const made = times.map(async (time) => {
      const signed = new TextEncoder().encode(`${headers["webhook-id"]}.${time}.${text}`);
      const bytes = await crypto.subtle.sign("HMAC", key, signed);
      return btoa(String.fromCodePoint(...new Uint8Array(bytes)));
    });
    return (await Promise.all(made)).some((each) => given.includes(each));
  };
  if (await holdsFor(body)) return BOTH_AGREE;
  for (const [text, change] of likely(body)) if (await holdsFor(text)) return bodyChanged(change);
  if (sent === null) return UNTOLD;
  if (await holdsFor(sent.body))
    return bodyChanged(sent.body.length === body.length ? "Some characters differ" : lengths(sent, body));
  return sent.body === body ? SECRET_IS_ANOTHER : NEITHER;
}

const lengths = (sent: SentEvent, body: string): string =>
  `${sent.body.length.toLocaleString()} characters were sent, ${body.length.toLocaleString()} were pasted`;

/** Changes that programs often make when they parse and rewrite a body. */
function likely(body: string): Array<[string, string]> {
  const lines = body.replaceAll("\r\n", "\n");
  const ways: Array<[string, string]> = [
    [body.trim(), "It has white space around it that was not sent"],
    [lines, "Its line endings were changed"],
  ];
  try {
    ways.push([JSON.stringify(JSON.parse(body)), "It was parsed and serialised again with different white space"]);
  } catch {
    // A body that is not JSON was not serialised again.
  }
  return ways;
}

const secretAgrees: Finding = { part: "Secret", agrees: true, text: "This secret created the signature." };
const BOTH_AGREE: Finding[] = [secretAgrees, { part: "Body", agrees: true, text: "Identical to the signed bytes." }];
const bodyChanged = (how: string): Finding[] => [
  secretAgrees,
  {
    part: "Body",
    agrees: false,
    text: `Changed after it was signed. ${how}. Verify the bytes as they arrive, before anything parses them.`,
  },
];
const SECRET_IS_ANOTHER: Finding[] = [
  { part: "Body", agrees: true, text: "Identical to what was sent." },
  {
    part: "Secret",
    agrees: false,
    text: "This secret did not create the signature. It belongs to another webhook, or it was rotated.",
  },
];
const NEITHER: Finding[] = [
  { part: "Body", agrees: false, text: "Not what was sent." },
  { part: "Secret", agrees: false, text: "This secret did not create the signature of what was sent." },
];
const UNTOLD: Finding[] = [
  {
    part: "Signature",
    agrees: false,
    text: "Signature not valid. This webhook has no delivery with that ID, so the cause (wrong secret or changed body) is unknown.",
  },
];
