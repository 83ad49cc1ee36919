import { z } from "zod";
import { nodeIdSchema } from "../../domain/flow/definition/definition.ts";
import { jsonObjectSchema, jsonValueSchema } from "../../domain/json-schema.ts";
import type { Config } from "../../config.ts";
import { invalid } from "../../domain/errors.ts";
import { givenId, tagList, userHandle } from "../http/schemas.ts";
import { environmentMember, versionMember, waitSeconds } from "../http/run-request.ts";

/** Longest metadata (bytes of JSON). */
const METADATA_BYTES = 16 * 1024;
/** Longest path of a node, which may be several maps deep. */
const MAX_PATH_CHARS = 1000;
/** How far ahead the start of a run may be set. */
const LATEST_START_MS = 366 * 24 * 3600 * 1000;

const metadataMember = jsonObjectSchema
  .refine(
    (value) => Buffer.byteLength(JSON.stringify(value)) <= METADATA_BYTES,
    `Must be at most ${METADATA_BYTES} bytes of JSON`,
  )
  .meta({
    description: `Any JSON object, up to ${METADATA_BYTES} bytes. Expressions can read it as \`run.metadata\`.`,
  });

/** The body of `POST /v2/runs`. */
export function createRunBody(config: Config) {
  return z
    .strictObject({
      project_id: z.uuid().optional().describe("The project whose flow is run."),
      flow_id: z.uuid().optional().describe("Same as `project_id`; send only one of the two."),
      version: versionMember,
      environment: environmentMember,
      draft: z
        .boolean()
        .optional()
        .describe(
          "Whether the project's draft is run instead of a version. The run keeps the flow as it is now; its `run_type` is `draft`, and no monitor, trigger or webhook learns of it.",
        ),
      until: z
        .string()
        .max(MAX_PATH_CHARS)
        .optional()
        .describe(
          "Only with `draft`: the node whose value is wanted. Only it and the nodes that it needs are executed; the others are skipped. The path of a node inside a map or loop, such as `map-0/tpl-0`, executes that whole map or loop with all its iterations, because its other nodes and iterations may decide what the node gets.",
        ),
      pinned: z
        .record(nodeIdSchema, jsonValueSchema)
        .optional()
        .describe(
          "Only with `draft`: values of nodes at the top level, by node ID. These nodes are not executed and have this value, and nodes that only they need are not executed either where `until` is sent.",
        ),
      pinned_from: z
        .record(nodeIdSchema, givenId)
        .optional()
        .describe(
          "Only with `pinned`: for each pinned value copied from a run, by node ID, the `run_id` of that run. If the data of that run's user is erased, this run is erased too.",
        ),
      inputs: jsonObjectSchema.describe("Inputs keyed by node ID; fields that match no input are ignored."),
      user_id: userHandle.nullish(),
      metadata: metadataMember.default({}),
      tags: tagList.default([]),
      mode: z.enum(["async", "sync"]).default("async"),
      wait_seconds: waitSeconds
        .optional()
        .describe('Maximum seconds to wait with `mode: "sync"`; capped by the installation\'s limit.'),
      run_at: z.iso
        .datetime({ offset: true })
        .optional()
        .describe("RFC 3339 time at which the run starts, in the future, at most 366 days ahead."),
      timeout_seconds: z
        .int()
        .min(1)
        .max(config.MILLRACE_MAX_RUN_TIMEOUT_SECONDS)
        .optional()
        .describe(
          "Time limit of the run in seconds, counted from its start. Default: the flow's setting, otherwise the installation's.",
        ),
    })
    .refine((body) => body.mode === "sync" || body.wait_seconds === undefined, {
      path: ["wait_seconds"],
      message: 'Allowed only with mode "sync"',
    })
    .refine((body) => body.draft !== true || body.version === -1, {
      path: ["version"],
      message: "Send version or draft, not both",
    })
    .refine((body) => body.environment === undefined || (body.version === -1 && body.draft !== true), {
      path: ["environment"],
      message: "Send environment without version and draft",
    })
    .refine((body) => body.draft === true || (body.until === undefined && body.pinned === undefined), {
      path: ["draft"],
      message: "until and pinned need draft: true",
    })
    .superRefine(({ pinned = {}, pinned_from = {} }, context) => {
      for (const id of Object.keys(pinned_from).filter((each) => !Object.hasOwn(pinned, each)))
        context.addIssue({
          code: "custom",
          path: ["pinned_from", id],
          message: "Send the value of this node in pinned",
        });
    })
    .refine((body) => body.project_id !== undefined || body.flow_id !== undefined, {
      path: ["project_id"],
      message: "Send project_id or flow_id",
    })
    .refine((body) => body.project_id === undefined || body.flow_id === undefined || body.project_id === body.flow_id, {
      path: ["flow_id"],
      message: "project_id and flow_id name different flows",
    })
    .meta({ id: "RunCreate" });
}
export type RunCreate = z.output<ReturnType<typeof createRunBody>>;

/** The flow that a body names, in either field. */
export function flowOf({ project_id, flow_id }: Pick<RunCreate, "project_id" | "flow_id">): string {
  return project_id ?? flow_id ?? "";
}

/** The start time to store. Throws 422 unless it is at most 366 days ahead and, except for a repeated request, in the future. */
export function requireFuture(runAt: string | undefined, repeated: boolean): string | undefined {
  if (runAt === undefined) return undefined;
  const at = Date.parse(runAt);
  if (!repeated && at <= Date.now()) throw invalid(["body", "run_at"], "Must be in the future");
  if (at > Date.now() + LATEST_START_MS) throw invalid(["body", "run_at"], "Must be at most 366 days in the future");
  return new Date(at).toISOString();
}
