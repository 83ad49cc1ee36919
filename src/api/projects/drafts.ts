import { z } from "zod";
import { notFound, required, ValidationProblem, Problem } from "../../domain/errors.ts";
import { changeDraft, draftOf, requireDraft, TOO_LARGE, type Draft } from "../../services/projects/drafts.ts";
import type { Db } from "../../stores/db.ts";
import { findDraftStep, listDraftSteps, type DraftStep, type DraftStepHead } from "../../stores/projects/drafts.ts";
import { findProject } from "../../stores/projects/projects.ts";
import { ETAG, ifMatchHeaders, isCurrent, namesTag, revisionTag } from "../http/etag.ts";
import { listPage, listQuery, pageOf } from "../http/list.ts";
import { operationsOf } from "../http/operation.ts";
import { EXAMPLE_FLOW } from "./flow-schemas.ts";
import { seesSecrets, type Principal } from "../../domain/accounts/principal.ts";
import { flowValidationSchema, type FlowValidation } from "../../domain/flow/validate/validate.ts";
import { maskLiterals } from "../../platform/logging/literal-secrets.ts";
import { asDeclared, named, namedStrict, pathId } from "../http/schemas.ts";

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

const savedDraftSchema = head.extend(flowValidationSchema.shape).meta({
  id: "SavedDraft",
  description: "The draft as it was saved, without its flow. `valid`: whether it can be run and published.",
});

/** Not the schema of flows, because a draft may be an invalid flow. */
const draftFlowSchema = z
  .looseObject({})
  .meta({ id: "DraftFlow", description: "A flow that is being edited. It may be invalid." });

const draftSchema = named("Draft", {
  ...savedDraftSchema.shape,
  flow: draftFlowSchema,
});

const draftStepSchema = named("DraftStep", {
  ...head.shape,
  published_as: z.int().nullable().describe("The version that the draft became with this step."),
  ended: z.boolean().describe("Whether the step deleted or published the draft. Such a step has no flow."),
});

const draftStepWithFlowSchema = named("DraftStepWithFlow", {
  ...draftStepSchema.shape,
  flow: draftFlowSchema.nullable(),
});

function presentSavedDraft(draft: DraftStep, { valid, problems }: FlowValidation): z.infer<typeof savedDraftSchema> {
  return asDeclared(savedDraftSchema, { ...draft, valid, problems });
}

function presentDraft(draft: Draft, validation: FlowValidation, reader: Principal): z.infer<typeof draftSchema> {
  return { ...presentSavedDraft(draft, validation), flow: shownTo(reader, draft.flow) };
}

const presentDraftStep = (step: DraftStepHead) => asDeclared(draftStepSchema, step);

function presentDraftStepWithFlow(step: DraftStep, reader: Principal): z.infer<typeof draftStepWithFlowSchema> {
  return { ...presentDraftStep(step), flow: step.flow && shownTo(reader, step.flow) };
}

function shownTo(reader: Principal, flow: Draft["flow"]): Draft["flow"] {
  return seesSecrets(reader) ? flow : maskLiterals(flow);
}

/**
 * The 412 for a change based on another state of the draft. `base` is the step that the client started from, if it is still stored: with it
 * and `draft` a client can show what each side has changed.
 */
function draftChanged(latest: DraftStep | null, base: DraftStep | null): Problem {
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

const params = z.object({ project_id: pathId("project") });
const stepParams = params.extend({ revision: z.int().min(1).max(2_147_483_647).describe("Number of the step.") });
const saveHeaders = ifMatchHeaders.extend({
  "if-none-match": z
    .string()
    .max(1000)
    .optional()
    .describe(
      "`*` saves the draft only if there is none yet; an ETag, only if the draft has another one (RFC 9110, 13.1.2).",
    ),
});

/**
 * Returns a check that the draft is in the state that the request's headers name. `db` is used to find the step that the client started
 * from.
 */
export function requireDraftMatch(headers: {
  readonly "if-match"?: string | undefined;
  readonly "if-none-match"?: string | undefined;
}): (db: Db, latest: DraftStep | null) => Promise<void> {
  const { "if-match": ifMatch, "if-none-match": ifNoneMatch } = headers;
  return async (db, latest) => {
    const draft = draftOf(latest);
    const isOther = ifMatch !== undefined && (draft === null || !namesTag(ifMatch, revisionTag(draft.revision)));
    const isKnown = draft !== null && isCurrent(ifNoneMatch, revisionTag(draft.revision));
    if (!isOther && !isKnown) return;
    const revision = /"r(\d{1,9})/.exec(ifMatch ?? "")?.[1];
    const base =
      revision === undefined || latest === null ? null : await findDraftStep(db, latest.project_id, Number(revision));
    throw draftChanged(latest, base);
  };
}

export const define = operationsOf({ tag: "Flow versions", auth: "secret" });

/** `/v2/projects/{project_id}/draft`: the flow that people edit before it becomes a version. */
export const draftOperations = [
  define({
    id: "getDraft",
    route: "GET /v2/projects/{project_id}/draft",
    summary: "Get a project's draft",
    description:
      "Returns the draft, a flow that is being edited, with its problems. Returns 404 if the project has no draft. Credentials written into the flow are masked for viewers.",
    params,
    success: { 200: { description: "The draft.", schema: draftSchema, headers: ETAG } },
    async handler({ params: { project_id }, principal }, { db, checkFlow }) {
      const draft = await db.org(principal.org_id, async (connection) => {
        required(await findProject(connection, project_id), "project");
        return requireDraft(connection, project_id);
      });
      const body = presentDraft(draft, await checkFlow(principal, draft.flow, project_id), principal);
      return { status: 200, body, headers: { ETag: revisionTag(draft.revision) } };
    },
  }),
  define({
    id: "saveDraft",
    audit: "run",
    route: "PUT /v2/projects/{project_id}/draft",
    summary: "Save a project's draft",
    description: `Saves a flow as the draft. A draft may be invalid: the response lists its problems. Only a flow beyond the limits of size is rejected. Every change is a step
(\`GET /v2/projects/{project_id}/draft/steps\`), kept for a day.

Send \`If-Match\` with the ETag of the draft that you changed, or \`If-None-Match: *\` for the first draft. If another person has changed it in the
meantime, the response is a 412 with \`change\` (who did what, and when), \`draft\` (the current one) and \`base\` (the one that you started from, if
it is still kept), and nothing is saved. Without these headers the draft is replaced.`,
    params,
    headers: saveHeaders,
    body: namedStrict("DraftSave", { flow: draftFlowSchema }),
    wideBody: true,
    examples: { flow: { flow: EXAMPLE_FLOW } },
    success: {
      200: { description: "Draft saved.", schema: savedDraftSchema, headers: ETAG },
      201: { description: "Draft created.", schema: savedDraftSchema, headers: ETAG },
    },
    async handler({ params: { project_id }, headers, body, principal }, { checkFlow, db }) {
      const flow = body.flow as DraftStep["flow"];
      const checked = await checkFlow(principal, flow, project_id);
      const tooLarge = checked.problems.filter(({ code }) => TOO_LARGE.includes(code));
      if (tooLarge.length > 0) {
        const issues = tooLarge.map(({ path, message, code }) => ({
          loc: ["body", "flow", ...path],
          msg: message,
          type: code,
        }));
        throw new ValidationProblem(issues, { problems: tooLarge });
      }
      const { before, after } = await db.orgTransaction(principal.org_id, (connection) =>
        changeDraft(connection, { project_id, flow, author: principal, requireMatch: requireDraftMatch(headers) }),
      );
      return {
        status: before === null ? 201 : 200,
        body: presentSavedDraft(after, checked),
        headers: { ETag: revisionTag(after.revision) },
      };
    },
  }),
  define({
    id: "deleteDraft",
    route: "DELETE /v2/projects/{project_id}/draft",
    summary: "Delete a project's draft",
    description:
      "Deletes the draft. Versions are kept. For a day the draft can still be read as a step, and saved again.",
    params,
    headers: ifMatchHeaders,
    success: { 204: { description: "The project has no draft." } },
    async handler({ params: { project_id }, headers, principal, audit }, { db }) {
      await db.orgTransaction(principal.org_id, async (connection) => {
        const requireMatch = requireDraftMatch(headers);
        const change = { project_id, flow: null, author: principal, requireMatch };
        const { before } = await changeDraft(connection, change);
        await audit(connection, {
          target: { type: "project", id: project_id },
          ...(before && { before: presentDraftStep(before) }),
        });
      });
    },
  }),
  define({
    id: "listDraftSteps",
    route: "GET /v2/projects/{project_id}/draft/steps",
    summary: "List the steps of a project's draft",
    description:
      "Lists the steps of the draft, newest first, without their flows. Steps are kept for a day. After ten minutes, only the last step that one person made within a minute is kept.",
    params,
    query: listQuery,
    success: { 200: { description: "A page of steps.", schema: pageOf(draftStepSchema) } },
    async handler({ params: { project_id }, query, principal }, { reads }) {
      return reads.org(principal.org_id, async (connection) => {
        if (!(await findProject(connection, project_id))) throw notFound("project");
        return listPage("draft-steps", principal.org_id, query, {
          filters: { project_id },
          fetch: (keyset) => listDraftSteps(connection, project_id, keyset),
          idOf: ({ revision }) => String(revision),
          isId: (text) => /^[1-9]\d{0,9}$/.test(text),
          present: presentDraftStep,
        });
      });
    },
  }),
  define({
    id: "getDraftStep",
    route: "GET /v2/projects/{project_id}/draft/steps/{revision}",
    summary: "Get a step of a project's draft",
    description:
      "Returns the step with its flow. To restore it, save its flow as the draft. Credentials written into the flow are masked for viewers.",
    params: stepParams,
    success: { 200: { description: "The step.", schema: draftStepWithFlowSchema } },
    async handler({ params: { project_id, revision }, principal }, { db }) {
      const step = await db.org(principal.org_id, async (connection) => {
        required(await findProject(connection, project_id), "project");
        return required(await findDraftStep(connection, project_id, revision), "step of the draft");
      });
      return { status: 200, body: presentDraftStepWithFlow(step, principal) };
    },
  }),
];
