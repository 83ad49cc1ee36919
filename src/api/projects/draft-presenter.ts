import { z } from "zod";
import { seesSecrets } from "../../domain/accounts/principal.ts";
import type { Principal } from "../../domain/accounts/principal.ts";
import { Problem } from "../../domain/errors.ts";
import type { FlowValidation } from "../../domain/flow/validate/validate.ts";
import { maskLiterals } from "../../platform/logging/literal-secrets.ts";
import type { Draft } from "../../services/projects/drafts.ts";
import type { DraftStep, DraftStepHead } from "../../stores/projects/drafts.ts";
import { asDeclared } from "../http/as-declared.ts";
import { revisionTag } from "../http/etag.ts";
import { flowValidationSchema } from "./flow-io-presenter.ts";

const head = z.object({
  project_id: z.uuid(),
  revision: z
    .int()
    .min(1)
    .describe("Number that every change increases, also after the draft was deleted or published."),
  changed_by_type: z.enum(["org_api_key", "user"]),
  changed_by: z.uuid().describe("ID of the user or API key that made the change."),
  changed_by_name: z
    .string()
    .nullable()
    .describe("Email address of the user or name of the API key; `null` if it no longer exists."),
  changed_at: z.iso.datetime(),
});

export const savedDraftSchema = head.extend(flowValidationSchema.shape).meta({
  id: "SavedDraft",
  description: "The draft as it was saved, without its flow. `valid`: whether it can be run and published.",
});

/** Not the schema of flows, because a draft may be an invalid flow. */
export const draftFlowSchema = z
  .looseObject({})
  .meta({ id: "DraftFlow", description: "A flow that is being edited. It may be invalid." });

export const draftSchema = savedDraftSchema.extend({ flow: draftFlowSchema }).meta({ id: "Draft" });

export const draftStepSchema = head
  .extend({
    published_as: z.int().nullable().describe("The version that the draft became with this step."),
    ended: z.boolean().describe("Whether the step deleted or published the draft. Such a step has no flow."),
  })
  .meta({ id: "DraftStep" });

export const draftStepWithFlowSchema = draftStepSchema
  .extend({ flow: draftFlowSchema.nullable() })
  .meta({ id: "DraftStepWithFlow" });

export function presentSavedDraft(
  draft: DraftStep,
  { valid, problems }: FlowValidation,
): z.infer<typeof savedDraftSchema> {
  const listed = problems.map((problem) => ({ ...problem, path: [...problem.path] }));
  return { ...asDeclared(head, draft), valid, problems: listed };
}

export function presentDraft(draft: Draft, validation: FlowValidation, reader: Principal): z.infer<typeof draftSchema> {
  return { ...presentSavedDraft(draft, validation), flow: shownTo(reader, draft.flow) };
}

export function presentDraftStep(step: DraftStepHead): z.infer<typeof draftStepSchema> {
  return asDeclared(draftStepSchema, step);
}

export function presentDraftStepWithFlow(step: DraftStep, reader: Principal): z.infer<typeof draftStepWithFlowSchema> {
  return { ...presentDraftStep(step), flow: step.flow && shownTo(reader, step.flow) };
}

function shownTo(reader: Principal, flow: Draft["flow"]): Draft["flow"] {
  return seesSecrets(reader) ? flow : maskLiterals(flow);
}

/**
 * The 412 for a change based on another state of the draft. `base` is the step that the client started from, if it is still stored: with it
 * and `draft` a client can show what each side has changed.
 */
export function draftChanged(latest: DraftStep | null, base: DraftStep | null): Problem {
  const draft = latest?.flow ? { revision: latest.revision, flow: latest.flow } : null;
  const extra = {
    draft,
    base: base?.flow ? { revision: base.revision, flow: base.flow } : null,
    ...(latest && { change: presentDraftStep(latest) }),
  };
  const way = draft
    ? "Compare your flow with `draft`; to replace it, send If-Match with the ETag of this response."
    : "To begin a new draft, send If-None-Match: *.";
  return new Problem("precondition_failed", `${said(latest)} Nothing was saved. ${way}`, {
    extra,
    ...(draft && { headers: { ETag: revisionTag(draft.revision) } }),
  });
}

function said(latest: DraftStep | null): string {
  if (latest === null) return "The project has no draft.";
  const who = latest.changed_by_name ?? latest.changed_by;
  const what =
    latest.published_as === null
      ? `${latest.ended ? "deleted" : "changed"} the draft`
      : `published the draft as version ${latest.published_as}`;
  return `${who} ${what} at ${latest.changed_at}.`;
}
