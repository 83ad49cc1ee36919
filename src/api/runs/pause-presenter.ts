import { z } from "zod";
import { ASSIGNEE_ROLES } from "../../domain/runs/assignees.ts";
import { PAUSE_KINDS } from "../../domain/runs/run.ts";
import type { PauseRow } from "../../stores/runs/pauses.ts";
import { asDeclared, named } from "../http/schemas.ts";

const assigneesSchema = named("Assignees", { users: z.array(z.string()), roles: z.array(z.enum(ASSIGNEE_ROLES)) });

/** A pause as callers of a flow see it. Anyone may be the caller, so assignees are not shown. */
export const flowPauseSchema = named("FlowPause", {
  pause_id: z.uuid(),
  node_id: z.string(),
  path: z.string().describe("Path of the node: `approval-0`, or `map-0[3]/approval-0` inside an iteration."),
  kind: z.enum(PAUSE_KINDS),
  message: z.string().describe("The question to the assignees."),
  data: z.unknown().describe("Data for the decision."),
  form: z
    .record(z.string(), z.unknown())
    .nullable()
    .describe("JSON Schema 2020-12 of the data that an answer contains."),
  actions: z.array(z.object({ id: z.string(), label: z.string().optional() })),
  required_approvals: z.int().describe("Number of different principals who must choose the same action."),
  received: z
    .array(z.object({ by: z.string(), action: z.string(), at: z.iso.datetime() }))
    .describe("The answers so far. `by` is `user:<id>`, `org_api_key:<id>` or `page:<id>`."),
  expires_at: z.iso.datetime().nullable(),
  on_timeout: z
    .string()
    .describe("What happens when the pause expires: `fail`, `branch`, or the ID of the action to take."),
  status: z.enum(["waiting", "resolved", "expired", "cancelled"]),
  created_at: z.iso.datetime(),
  resolved_at: z.iso.datetime().nullable(),
});
type FlowPauseView = z.infer<typeof flowPauseSchema>;

export const pauseSchema = named("Pause", {
  ...flowPauseSchema.shape,
  assignees: assigneesSchema
    .nullable()
    .describe(
      "Who can answer: users by ID or email address, and everyone with one of the roles. `null` means everyone who can resume runs.",
    ),
});
export type PauseView = z.infer<typeof pauseSchema>;

export function presentPause(pause: PauseRow): PauseView {
  return asDeclared(pauseSchema, { ...pause, form: pause.form as PauseView["form"] });
}

export function presentFlowPause(pause: PauseRow): FlowPauseView {
  return asDeclared(flowPauseSchema, { ...pause, form: pause.form as FlowPauseView["form"] });
}
