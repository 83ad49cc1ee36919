import { z } from "zod";
import type { Config } from "../../config.ts";

export const versionMember = z
  .int()
  .default(-1)
  .describe("Version of the flow; -1 is the published one. A public key may name any version that was ever published.");

/** Seconds to wait, in a query or a body; limited to the configured wait. */
export const waitSeconds = z.int().min(0).max(600);

/** How long to wait for a run: what was asked for, within what is configured (milliseconds). */
export function waitMs(config: Config, seconds: number | undefined): number {
  return seconds === undefined ? config.MILLRACE_SYNC_WAIT_MS : Math.min(seconds * 1000, config.MILLRACE_SYNC_WAIT_MS);
}
