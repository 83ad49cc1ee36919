import { z } from "zod";

/** The subjects of operations. Each operation belongs to one, by its tag. */
export const CAPABILITIES = [
  "audit",
  "documents",
  "evals",
  "keys",
  "knowledge",
  "models",
  "projects",
  "providers",
  "runs",
  "service",
  "skills",
  "triggers",
  "users",
  "webhooks",
] as const;
export type Capability = (typeof CAPABILITIES)[number];
export type ScopeAccess = "read" | "write";
export interface Scope {
  readonly capability: Capability;
  readonly access: ScopeAccess;
}

/** Whoever makes keys and users may do everything with them: no limited key does. */
const UNLIMITED_ONLY: readonly Capability[] = ["keys", "users"];

/** Every scope that a key can have. */
export const SCOPES: readonly string[] = CAPABILITIES.flatMap((capability) =>
  UNLIMITED_ONLY.includes(capability)
    ? [`${capability}:read`]
    : [`${capability}:read`, `${capability}:write`, `${capability}:*`],
);

/** How a key is limited, compared with others of its kind; null and false: no limit. */
export interface KeyLimits {
  readonly scopes: readonly string[] | null;
  readonly read_only: boolean;
  readonly projects: readonly string[] | null;
  readonly allowed_origins: readonly string[] | null;
  readonly allowed_addresses: readonly string[] | null;
}

const MOST = 100;

/** The limits as a caller or the command line gives them. All may be left out. */
export const keyLimits = {
  scopes: z
    .array(z.enum(SCOPES as [string, ...string[]]))
    .min(1)
    .max(SCOPES.length)
    .nullish()
    .describe("Only these operations, by capability: `runs:read`, `runs:write`, `runs:*` (both). Left out: all."),
  read_only: z.boolean().optional().describe("Only operations that change nothing."),
  projects: z
    .array(z.uuid().toLowerCase())
    .min(1)
    .max(MOST)
    .nullish()
    .describe("Only requests about these projects. Requests that name no project are refused."),
  allowed_origins: z
    .array(z.string().max(300).refine(isOrigin, "Give an origin such as https://shop.example"))
    .min(1)
    .max(MOST)
    .nullish()
    .describe("Only web pages of these origins; a request without `Origin` is refused."),
  allowed_addresses: z
    .array(z.string().max(100).refine(isAddress, "Give an IP address or a network (CIDR)"))
    .min(1)
    .max(MOST)
    .nullish()
    .describe("Only clients with these IP addresses or of these networks (CIDR)."),
};

/** Limits that are left out, as no limits. */
export function completeLimits(given: { readonly [Name in keyof KeyLimits]?: KeyLimits[Name] | undefined }): KeyLimits {
  return {
    scopes: given.scopes ?? null,
    read_only: given.read_only ?? false,
    projects: given.projects ?? null,
    allowed_origins: given.allowed_origins ?? null,
    allowed_addresses: given.allowed_addresses ?? null,
  };
}

/** Whether there is any limit. */
export function isLimited({ read_only, ...lists }: KeyLimits): boolean {
  return read_only || Object.values(lists).some((list) => list !== null);
}

/** The scope that a key with these limits lacks for an operation; null if it lacks none. */
export function missingScope({ scopes }: KeyLimits, { capability, access }: Scope): string | null {
  const scope = `${capability}:${access}`;
  if (access === "write" && UNLIMITED_ONLY.includes(capability)) return scope;
  return scopes === null || scopes.includes(scope) || scopes.includes(`${capability}:*`) ? null : scope;
}

const address = z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()]);

function isAddress(text: string): boolean {
  return address.safeParse(text).success;
}

function isOrigin(text: string): boolean {
  return /^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text;
}
