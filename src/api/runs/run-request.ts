import { z } from "zod";
import type { Config } from "../../config.ts";
import { ValidationProblem } from "../../domain/errors.ts";
import { validateRunInputs } from "../../domain/flow/io/run-inputs.ts";
import type { Plan } from "../../domain/flow/plan/types.ts";
import type { Json } from "../../domain/json.ts";
import type { RanByType } from "../../domain/runs/run.ts";
import type { Principal } from "../auth/principal.ts";

/** Text without control characters, for handles and tags; written out, as few who read the document know `\p{Cc}`. */
// oxlint-disable-next-line no-control-regex
const VISIBLE = /^[^\u0000-\u001f\u007f-\u009f]*$/;

/** The `<user>-<conversation>` handle: any text, compared exactly. */
export const userHandle = z
  .string()
  .min(1)
  .max(256)
  .regex(VISIBLE, "Control characters are not allowed")
  .describe("The `<user>-<conversation>` handle under which documents were uploaded; compared exactly.");

export const tag = z.string().min(1).max(64).regex(VISIBLE, "Control characters are not allowed");

export const versionMember = z.int().default(-1).describe("Version of the flow; -1 is the published one.");

/** Seconds to wait, in a query or a body; held to the configured wait. */
export const waitSeconds = z.int().min(0).max(600);

/** How long to wait for a run: what was asked for, within what is configured (milliseconds). */
export function waitMs(config: Config, seconds: number | undefined): number {
  return seconds === undefined ? config.MILLRACE_SYNC_WAIT_MS : Math.min(seconds * 1000, config.MILLRACE_SYNC_WAIT_MS);
}

/** The inputs of a run, checked against its flow. Throws the 422 with every offending input. */
export function requireInputs(
  config: Config,
  plan: Plan,
  body: unknown,
  options?: Parameters<typeof validateRunInputs>[3],
): { readonly inputs: Readonly<Record<string, Json>>; readonly ignored: readonly string[] } {
  const { inputs, ignored, issues } = validateRunInputs(
    plan,
    body,
    { max_input_bytes: config.MILLRACE_INPUT_LIMIT_BYTES },
    options,
  );
  if (issues.length > 0) throw new ValidationProblem(issues);
  return { inputs, ignored };
}

/** Who runs it, as the run's row says it. */
export function ranBy(principal: Principal): { ran_by_type: RanByType; ran_by_id: string } {
  return { ran_by_type: principal.type, ran_by_id: principal.id };
}
