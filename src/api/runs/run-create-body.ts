import { z } from "zod";
import { jsonObjectSchema } from "../../domain/json-schema.ts";
import type { Config } from "../../config.ts";
import { invalid } from "../../domain/errors.ts";
import { tagList, userHandle } from "../http/text-fields.ts";
import { versionMember, waitSeconds } from "./run-request.ts";

/** Longest metadata (bytes of JSON). */
const METADATA_BYTES = 16 * 1024;
/** How far ahead a run may be put off. */
const LATEST_START_MS = 366 * 24 * 3600 * 1000;

const metadataMember = jsonObjectSchema
  .refine(
    (value) => Buffer.byteLength(JSON.stringify(value)) <= METADATA_BYTES,
    `At most ${METADATA_BYTES} bytes of JSON`,
  )
  .meta({
    description: `Whatever you like, at most ${METADATA_BYTES} bytes of JSON. Expressions see it as \`run.metadata\`.`,
  });

/** The body of `POST /v2/runs`. */
export function createRunBody(config: Config) {
  return z
    .strictObject({
      project_id: z.uuid().optional().describe("The project whose flow is run."),
      flow_id: z.uuid().optional().describe("The same under its other name; give one of the two."),
      version: versionMember,
      inputs: jsonObjectSchema.describe("By node id; members that no input takes are ignored."),
      user_id: userHandle.nullish(),
      metadata: metadataMember.default({}),
      tags: tagList.default([]),
      mode: z.enum(["async", "sync"]).default("async"),
      wait_seconds: waitSeconds
        .optional()
        .describe("How long `sync` waits, at most; never longer than the service is configured to wait."),
      run_at: z.iso
        .datetime({ offset: true })
        .optional()
        .describe("RFC 3339, in the future, at most 366 days ahead: the run starts then."),
      timeout_seconds: z
        .int()
        .min(1)
        .max(config.MILLRACE_MAX_RUN_TIMEOUT_SECONDS)
        .optional()
        .describe("How long the run may take once it has started; default the flow's, else the service's."),
    })
    .refine((body) => body.mode === "sync" || body.wait_seconds === undefined, {
      path: ["wait_seconds"],
      message: 'Only with mode "sync"',
    })
    .refine((body) => body.project_id !== undefined || body.flow_id !== undefined, {
      path: ["project_id"],
      message: "Give project_id or flow_id",
    })
    .refine((body) => body.project_id === undefined || body.flow_id === undefined || body.project_id === body.flow_id, {
      path: ["flow_id"],
      message: "project_id and flow_id name different flows",
    })
    .meta({ id: "RunCreate" });
}
type RunCreate = z.output<ReturnType<typeof createRunBody>>;

/** The flow that a body names, by either member. */
export function flowOf({ project_id, flow_id }: Pick<RunCreate, "project_id" | "flow_id">): string {
  return project_id ?? flow_id ?? "";
}

/** The start time to store. Throws 422 unless it is in the future, except for a repeated request. */
export function requireFuture(runAt: string | undefined, repeated: boolean): string | undefined {
  if (runAt === undefined) return undefined;
  const at = Date.parse(runAt);
  if (!repeated && at <= Date.now()) throw invalid(["body", "run_at"], "The time lies in the past");
  if (at > Date.now() + LATEST_START_MS) throw invalid(["body", "run_at"], "The time lies more than 366 days ahead");
  return new Date(at).toISOString();
}
