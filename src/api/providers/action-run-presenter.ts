import { z } from "zod";
import { jsonValueSchema } from "../../domain/json-schema.ts";
import { ACTION_RUN_STATES, actionErrorSchema } from "../../domain/providers/action-run.ts";
import { loadValue } from "../../platform/blobs/blobs.ts";
import type { BlobStore } from "../../platform/blobs/blobs.ts";
import type { ActionRunRow } from "../../stores/providers/action-runs.ts";
import { asDeclared } from "../http/as-declared.ts";

export const actionRunSchema = z
  .object({
    action_run_id: z.uuid(),
    provider_id: z.string(),
    action_id: z.string(),
    connection_id: z.uuid().nullable(),
    dry_run: z.boolean(),
    state: z.enum(ACTION_RUN_STATES),
    successful: z.boolean().nullable().describe("Whether the action succeeded; `null` until it has finished."),
    outputs: jsonValueSchema.describe(
      "A value that matches the action's `output_schema`; `null` unless it was successful.",
    ),
    error: actionErrorSchema.nullable(),
    rendered_request: jsonValueSchema.describe(
      "The request that was sent or, with `dry_run`, would be sent. Secrets are masked.",
    ),
    latency_ms: z.int().nullable(),
    created_at: z.iso.datetime(),
    finished_at: z.iso.datetime().nullable(),
  })
  .meta({ id: "ActionRun" });

export async function presentActionRun(blobs: BlobStore, run: ActionRunRow): Promise<z.infer<typeof actionRunSchema>> {
  return asDeclared(actionRunSchema, {
    ...run,
    successful: run.finished_at === null ? null : run.error === null,
    outputs: run.outputs === null ? null : await loadValue(blobs, run.outputs),
  });
}
