import { z } from "zod";
import { invalid } from "../../domain/errors.ts";
import { ENVIRONMENT_NAME } from "../../domain/projects/environments.ts";
import type { Config } from "../../config.ts";

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
