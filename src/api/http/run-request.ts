import { z } from "zod";
import { Problem, invalid } from "../../domain/errors.ts";
import { DEFAULT_ENVIRONMENTS, ENVIRONMENT_NAME, PRODUCTION } from "../../domain/projects/environments.ts";
import type { Config } from "../../config.ts";

/** The preferences of a Prefer header (RFC 7240). As the RFC says, unknown preferences are ignored. */
interface Preferences {
  readonly respondAsync: boolean;
  /** Seconds; undefined if the header sets no wait. */
  readonly wait?: number;
}

/** Reads a Prefer header. */
export function parsePrefer(header: string | undefined): Preferences {
  const preferences = (header ?? "").split(",").map((part) => part.split(";", 1)[0]?.trim().toLowerCase() ?? "");
  const wait = preferences
    .map((each) => /^wait\s*=\s*"?(\d{1,6})"?$/.exec(each)?.[1])
    .find((each) => each !== undefined);
  return { respondAsync: preferences.includes("respond-async"), ...(wait !== undefined && { wait: Number(wait) }) };
}

export const versionMember = z
  .int()
  .default(-1)
  .describe(
    "Flow version; -1 is that of the environment, which is the published one unless you send `environment`. A public key can use any version that was ever published.",
  );

/** Locations of the field and of the parameter that name the draft of a project. */
export const DRAFT_IN_BODY = ["body", "draft"];
export const DRAFT_IN_QUERY = ["query", "run_draft"];

/** Seconds to wait, in a query or a body; limited to the configured wait. */
export const waitSeconds = z.int().min(0).max(600);

/** How long to wait for a run (ms): the requested wait, within the configured limit. */
export function waitMs(config: Config, seconds: number | undefined): number {
  return seconds === undefined ? config.MILLRACE_SYNC_WAIT_MS : Math.min(seconds * 1000, config.MILLRACE_SYNC_WAIT_MS);
}

/** The name of an environment in a path or a body. */
export const environmentName = z
  .string()
  .regex(ENVIRONMENT_NAME)
  .describe(
    `Name of the environment: lower-case letters, digits and hyphens, at most 64, but not \`draft\`. Every project has ${DEFAULT_ENVIRONMENTS.map((name) => `\`${name}\``).join(", ")}.`,
  );

/** The environment whose version and connections a run uses. */
export const environmentMember = z
  .string()
  .regex(ENVIRONMENT_NAME)
  .optional()
  .describe(
    "The environment whose version and connections are used: `development`, `staging`, `production` or another one of the project. Default: `production`, whose version is the published one. Only without `version`.",
  );

/** Throws 422 if a request names an environment and also the version or the draft to run. */
export function requireOneVersion(
  at: "query" | "body",
  wanted: { readonly version: number; readonly draft?: boolean | undefined; readonly environment?: string | undefined },
): void {
  if (wanted.environment === undefined || (wanted.version === -1 && wanted.draft !== true)) return;
  const other = wanted.draft === true ? (at === "query" ? "run_draft" : "draft") : "version";
  throw invalid([at, "environment"], `Send environment or ${other}, not both`);
}

/** Public keys are visible to visitors of web pages, who must not reach what is still being tested. */
export function requirePublicEnvironment(name: string | undefined): void {
  if (name === undefined || name === PRODUCTION) return;
  throw new Problem("forbidden", "A public API key can call only the environment production.");
}

/** What an operation may answer that finds the version of a flow. */
export const VERSION_PROBLEMS = ["flow_version_not_found", "environment_not_found", "environment_empty"] as const;
/** What an operation may answer that starts a run. */
export const START_PROBLEMS = ["too_many_nested_runs", "too_many_concurrent_runs", "quota_exceeded"] as const;
