import { createHash, randomBytes, scrypt, timingSafeEqual } from "node:crypto";

const PREFIXES = {
  public: "mr_pub_",
  secret: "mr_sec_",
  access: "mr_at_",
  refresh: "mr_rt_",
  session: "mr_ss_",
  link: "mr_ln_",
} as const;

/** `public`: inference and upload only. `secret`: everything its organisation may do. */
export type ApiKeyKind = "public" | "secret";
/** The two tokens of the password flow; the secret in a session's cookie; the secret in a one-time sign-in link. */
export type TokenKind = "access" | "refresh" | "session" | "link";
type SecretKind = ApiKeyKind | TokenKind;

/** A new secret: its value is returned once, its hash and prefix are stored. */
export interface NewSecret {
  readonly value: string;
  readonly hash: Buffer;
  /** Enough to recognise the secret in a list. */
  readonly prefix: string;
}

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/** 62^43 is just above 2^256. */
const RANDOM_CHARS = 43;
const CHECKSUM_CHARS = 6;
const SHOWN_CHARS = 6;
const SHAPE = new RegExp(`^mr_(?:pub|sec|at|rt|ss|ln)_[0-9A-Za-z]{${RANDOM_CHARS + CHECKSUM_CHARS}}$`);

/** Makes an API key: prefix, 32 random bytes and a checksum in base 62. */
export function generateApiKey(kind: ApiKeyKind): NewSecret {
  return generate(kind);
}

/** Makes an opaque token of the same format. */
export function generateToken(kind: TokenKind): NewSecret {
  return generate(kind);
}

/** The kind of an API key, or null for malformed text, which is refused without a database query. */
export function parseApiKey(value: string): ApiKeyKind | null {
  const kind = parse(value);
  return kind === "public" || kind === "secret" ? kind : null;
}

/** The kind of a token, or null; see parseApiKey. */
export function parseToken(value: string): TokenKind | null {
  const kind = parse(value);
  return kind === "public" || kind === "secret" ? null : kind;
}

/** The SHA-256 under which one of our own secrets is stored and found. 32 random bytes need no slow hash. */
export function hashSecret(value: string): Buffer {
  return createHash("sha256").update(value).digest();
}

function generate(kind: SecretKind): NewSecret {
  const body = PREFIXES[kind] + base62(randomBytes(32), RANDOM_CHARS);
  const value = body + checksum(body);
  return { value, hash: hashSecret(value), prefix: value.slice(0, PREFIXES[kind].length + SHOWN_CHARS) };
}

function parse(value: string): SecretKind | null {
  if (!SHAPE.test(value)) return null;
  const body = value.slice(0, -CHECKSUM_CHARS);
  if (value.slice(-CHECKSUM_CHARS) !== checksum(body)) return null;
  return (Object.keys(PREFIXES) as SecretKind[]).find((kind) => value.startsWith(PREFIXES[kind])) ?? null;
}

function checksum(body: string): string {
  return base62(hashSecret(body).subarray(0, 4), CHECKSUM_CHARS);
}

function base62(bytes: Buffer, chars: number): string {
  let rest = BigInt(`0x${bytes.toString("hex")}`);
  let text = "";
  for (let i = 0; i < chars; i += 1, rest /= 62n) text = ALPHABET.charAt(Number(rest % 62n)) + text;
  return text;
}

/** 32 MiB per password: three passes are as strong as one pass with 128 MiB (OWASP), and four concurrent log-ins do not fill half a GiB. */
const COST: ScryptCost = { ln: 15, r: 8, p: 3 };
const HASH_BYTES = 32;
const PLACEHOLDER_SALT = Buffer.alloc(16);

interface ScryptCost {
  /** Binary logarithm of N. */
  readonly ln: number;
  readonly r: number;
  readonly p: number;
}

/**
 * A salted scrypt hash with its parameters: `$scrypt$ln=15,r=8,p=3$salt$hash`. Takes some 200 ms of a pool thread and 32 MiB, so calls for
 * requests must be queued. With `like` it has the salt of that hash.
 */
export async function hashPassword(password: string, like?: string): Promise<string> {
  const salt = readHash(like ?? "")?.salt ?? randomBytes(16);
  const hash = await derive(password, salt, COST);
  return `$scrypt$ln=${COST.ln},r=${COST.r},p=${COST.p}$${salt.toString("base64url")}$${hash.toString("base64url")}`;
}

/**
 * The hashes that match this password; malformed ones never do. Hashes with the same salt cost one derivation together, and an empty list
 * costs one as well, so that timing does not reveal which users exist.
 */
export async function matchPassword(password: string, hashes: readonly string[]): Promise<ReadonlySet<string>> {
  const known = hashes.flatMap((stored) => {
    const hash = readHash(stored);
    return hash === null ? [] : [{ stored, ...hash }];
  });
  const derived = new Map<string, Buffer>();
  const matching = new Set<string>();
  for (const { stored, salt, cost, hash } of known) {
    const parameters = stored.slice(0, stored.lastIndexOf("$"));
    const actual = derived.get(parameters) ?? (await derive(password, salt, cost));
    derived.set(parameters, actual);
    if (timingSafeEqual(actual, hash)) matching.add(stored);
  }
  if (known.length === 0) await derive(password, PLACEHOLDER_SALT, COST);
  return matching;
}

/** Whether a hash was made with other parameters than the current ones; a log-in that succeeds then stores a new hash. */
export function needsRehash(stored: string): boolean {
  const cost = readHash(stored)?.cost;
  return cost === undefined || cost.ln !== COST.ln || cost.r !== COST.r || cost.p !== COST.p;
}

function readHash(stored: string): { cost: ScryptCost; salt: Buffer; hash: Buffer } | null {
  const match = /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([\w-]{16,64})\$([\w-]{43})$/.exec(stored);
  if (match === null) return null;
  const [ln, r, p] = [Number(match[1]), Number(match[2]), Number(match[3])];
  // A row that was tampered with must not make a log-in allocate gigabytes.
  if (ln < 10 || ln > 18 || r < 1 || r > 16 || p < 1 || p > 16) return null;
  return {
    cost: { ln, r, p },
    salt: Buffer.from(match[4] ?? "", "base64url"),
    hash: Buffer.from(match[5] ?? "", "base64url"),
  };
}

function derive(password: string, salt: Buffer, cost: ScryptCost): Promise<Buffer> {
  const N = 2 ** cost.ln;
  const maxmem = 256 * N * cost.r;
  return new Promise((resolve, reject) => {
    // Normalised, because systems encode the same typed password with different code points.
    scrypt(password.normalize("NFKC"), salt, HASH_BYTES, { N, r: cost.r, p: cost.p, maxmem }, (error, key) =>
      error === null ? resolve(key) : reject(error),
    );
  });
}
