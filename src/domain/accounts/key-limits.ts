import { z } from "zod";
import type { Immutable } from "../json.ts";
import { listUpTo } from "../schema-parts.ts";

/** The areas that scopes name. Each operation belongs to one, by its tag. */
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

/** These have no write scope: a restricted key that could create keys or users could obtain every right. */
const UNLIMITED_ONLY: readonly Capability[] = ["keys", "users"];

export const SCOPES: readonly string[] = CAPABILITIES.flatMap((capability) =>
  UNLIMITED_ONLY.includes(capability)
    ? [`${capability}:read`]
    : [`${capability}:read`, `${capability}:write`, `${capability}:*`],
);

/** The restrictions of a key compared with an unrestricted key of the same type; null or false means no restriction. */
export const shownKeyLimits = {
  scopes: z
    .array(z.enum(SCOPES as [string, ...string[]]))
    .nullable()
    .describe("Allowed operations; `null` means all."),
  read_only: z.boolean(),
  projects: z.array(z.uuid()).nullable().describe("Projects the key is restricted to; `null` means all."),
  allowed_origins: z
    .array(z.string())
    .nullable()
    .describe("Origins of the web pages that can use the key; `null` means any client."),
  allowed_addresses: z
    .array(z.string())
    .nullable()
    .describe("IP addresses and networks that can use the key; `null` means all."),
};
export type KeyLimits = Immutable<z.output<z.ZodObject<typeof shownKeyLimits>>>;

const MOST = 100;

/** The restrictions as the API and the command line accept them. All may be omitted. */
export const keyLimits = {
  scopes: listUpTo(SCOPES.length, z.enum(SCOPES as [string, ...string[]]))
    .nullish()
    .describe(
      "Allowed operations by capability: `runs:read`, `runs:write` or `runs:*` (both). If omitted, all operations are allowed.",
    ),
  read_only: z.boolean().optional().describe("`true` allows only operations that change nothing."),
  projects: listUpTo(MOST, z.uuid().toLowerCase())
    .nullish()
    .describe("Allows only requests about these projects. Requests that name no project are rejected."),
  allowed_origins: listUpTo(
    MOST,
    z.string().max(300).refine(isOrigin, "Must be an origin such as https://shop.example"),
  )
    .nullish()
    .describe("Allows only web pages of these origins; a request without `Origin` is rejected."),
  allowed_addresses: listUpTo(MOST, z.string().max(100).refine(isAddress, "Must be an IP address or a network (CIDR)"))
    .nullish()
    .describe("Allows only clients with these IP addresses or in these networks (CIDR)."),
};

/** Fills in the restrictions that were omitted as "no restriction". */
export function completeLimits(given: { readonly [Name in keyof KeyLimits]?: KeyLimits[Name] | undefined }): KeyLimits {
  return {
    scopes: given.scopes ?? null,
    read_only: given.read_only ?? false,
    projects: given.projects ?? null,
    allowed_origins: given.allowed_origins ?? null,
    allowed_addresses: given.allowed_addresses ?? null,
  };
}

export function isLimited({ read_only, ...lists }: KeyLimits): boolean {
  return read_only || Object.values(lists).some((list) => list !== null);
}

/** The scope that a key with these restrictions lacks for an operation; null if it lacks none. */
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
