import { z } from "zod";
import { listUpTo, wholeNumber } from "../../schema-parts.ts";
import { jsonObjectSchema, objectSchema } from "../../json-schema.ts";
import { nodeIdSchema } from "../definition/definition.ts";
import { assigneesConfig } from "./assignees.ts";
import { repeated } from "./repeated.ts";
import { cel, defineNode, liquid, remembersNothing, type ConfigFault } from "./spec.ts";

/** Names that an action cannot have, because they are handles or special values of on_timeout. */
const RESERVED_ACTIONS = ["timeout", "error", "out", "fail", "branch"];

const config = z.strictObject({
  message: z.string().describe("Liquid template of the question to people"),
  data: z.string().exactOptional().describe("CEL expression for data that helps people decide"),
  form: jsonObjectSchema.exactOptional().describe("JSON Schema 2020-12 of the data that an answer contains"),
  actions: listUpTo(
    20,
    z.strictObject({
      id: nodeIdSchema.refine(
        (id) => !RESERVED_ACTIONS.includes(id),
        `Must not be one of ${RESERVED_ACTIONS.join(", ")}`,
      ),
      label: z.string().max(200).exactOptional(),
    }),
  )
    .default([{ id: "approve" }, { id: "reject" }])
    .describe("Actions people can choose; each is a handle"),
  required_approvals: wholeNumber(1, 100)
    .default(1)
    .describe("Number of different people who must choose the same action; one reject is enough"),
  assignees: assigneesConfig.exactOptional().describe("Who can answer; if omitted, everyone who can resume runs"),
  expires_in_seconds: wholeNumber(1, 2_592_000)
    .exactOptional()
    .describe("Time until the pause expires, in seconds. If omitted, it stays open as long as the run can run"),
  on_timeout: z
    .string()
    .default("fail")
    .describe("When the pause expires: `fail`, `branch` (the handle `timeout`), or the ID of the action to take"),
});
export type ApprovalConfig = z.infer<typeof config>;

export const approvalSpec = defineNode({
  title: "Approval",
  group: "people",
  icon: "person",
  description: "Pauses the run until people have decided",
  example: {
    message: "Refund {{ in-0 }}?",
    actions: [
      { id: "approve", label: "Refund" },
      { id: "reject", label: "Decline" },
    ],
  },
  advanced: ["required_approvals", "expires_in_seconds", "on_timeout"],
  config,
  effect: true,
  execution: () => "workflow",
  handles: ({ actions }) => [...actions.map(({ id }) => id), "timeout"],
  expressions: ({ message, data }) => [liquid(message, "message"), ...(data === undefined ? [] : [cel(data, "data")])],
  faults: (config) => [...repeated(config.actions, "actions"), ...timeoutFaults(config)],
  asks: ({ assignees, required_approvals }) =>
    assignees === undefined ? [] : [{ assignees, required_approvals, path: ["assignees"] }],
  remembers: remembersNothing,
  io: {
    output: ({ actions }) =>
      objectSchema({
        action: { enum: [...actions.map(({ id }) => id), "timeout"] },
        data: {},
        by: { type: ["string", "null"] },
        at: { type: "string", format: "date-time" },
      }),
    pause: ({ form, actions }) => ({ form: form ?? null, actions }),
  },
});

function timeoutFaults({ on_timeout: choice, actions, expires_in_seconds: expires }: ApprovalConfig): ConfigFault[] {
  const choices = ["fail", "branch", ...actions.map(({ id }) => id)];
  if (!choices.includes(choice)) {
    return [{ path: ["on_timeout"], severity: "error", message: `on_timeout must be one of ${choices.join(", ")}` }];
  }
  return choice !== "fail" && expires === undefined
    ? [{ path: ["on_timeout"], severity: "warning", message: "Without expires_in_seconds the pause never expires" }]
    : [];
}
