import { z } from "zod";
import type { Config } from "../../config.ts";

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
