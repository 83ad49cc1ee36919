import { z } from "zod";
import { jsonObjectSchema } from "../../json-schema.ts";
import { nodeIdSchema } from "../definition/definition.ts";
import { assigneesConfig } from "./assignees.ts";
import { repeated } from "./repeated.ts";
import { cel, defineNode, liquid, remembersNothing, type ConfigFault } from "./spec.ts";

/** Names that an action cannot have: they are handles, or special words of on_timeout. */
const RESERVED_ACTIONS = ["timeout", "error", "out", "fail", "branch"];

const config = z.strictObject({
  message: z.string().describe("Liquid: the question to people"),
  data: z.string().exactOptional().describe("CEL: data for their decision"),
  form: jsonObjectSchema.exactOptional().describe("JSON Schema 2020-12 of the data an answer carries"),
  actions: z
    .array(
      z.strictObject({
        id: nodeIdSchema.refine((id) => !RESERVED_ACTIONS.includes(id), `Not one of ${RESERVED_ACTIONS.join(", ")}`),
        label: z.string().max(200).exactOptional(),
      }),
    )
    .min(1)
    .max(20)
    .default([{ id: "approve" }, { id: "reject" }])
    .describe("What they can choose; each is a handle"),
  required_approvals: z
    .int()
    .min(1)
    .max(100)
    .default(1)
    .describe("Different people who must choose the same action; one reject is enough"),
  assignees: assigneesConfig.exactOptional().describe("Who may answer; left out, everybody who may resume runs"),
  expires_in_seconds: z
    .int()
    .min(1)
    .max(2_592_000)
    .exactOptional()
    .describe("Without it the pause stays open as long as the run may"),
  on_timeout: z
    .string()
    .default("fail")
    .describe("When it expires: fail, branch (the handle timeout), or the id of the action that is taken"),
});
export type ApprovalConfig = z.infer<typeof config>;

export const approvalSpec = defineNode({
  description: "Pauses the run until people have decided",
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
    output: ({ actions }) => ({
      type: "object",
      properties: {
        action: { enum: [...actions.map(({ id }) => id), "timeout"] },
        data: {},
        by: { type: ["string", "null"] },
        at: { type: "string", format: "date-time" },
      },
      required: ["action", "data", "by", "at"],
    }),
    pause: ({ form, actions }) => ({ form: form ?? null, actions }),
  },
});

function timeoutFaults({ on_timeout: choice, actions, expires_in_seconds: expires }: ApprovalConfig): ConfigFault[] {
  const choices = ["fail", "branch", ...actions.map(({ id }) => id)];
  if (!choices.includes(choice)) {
    return [{ path: ["on_timeout"], severity: "error", message: `on_timeout is one of ${choices.join(", ")}` }];
  }
  return choice !== "fail" && expires === undefined
    ? [{ path: ["on_timeout"], severity: "warning", message: "Without expires_in_seconds the pause never expires" }]
    : [];
}
