import { z } from "zod";
import { notFound, required, ValidationProblem } from "../../domain/errors.ts";
import { changeDraft, draftOf, requireDraft, TOO_LARGE } from "../../services/projects/drafts.ts";
import type { Db } from "../../stores/db.ts";
import { findDraftStep, listDraftSteps } from "../../stores/projects/drafts.ts";
import type { DraftStep } from "../../stores/projects/drafts.ts";
import { findProject } from "../../stores/projects/projects.ts";
import type { ApiDeps, ApiServices } from "../deps.ts";
import { ETAG, ifMatchHeaders, isCurrent, namesTag, revisionTag } from "../http/etag.ts";
import { listPage, listQuery, pageOf } from "../http/list.ts";
import { defineOperation } from "../http/operation.ts";
import type { Operation } from "../http/operation.ts";
import { pathId } from "../http/path-id.ts";
import {
  draftChanged,
  draftFlowSchema,
  draftSchema,
  draftStepSchema,
  draftStepWithFlowSchema,
  presentDraft,
  presentDraftStep,
  presentDraftStepWithFlow,
  presentSavedDraft,
  savedDraftSchema,
} from "./draft-presenter.ts";
import { EXAMPLE_FLOW } from "./example-flow.ts";

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

const COMMON = { tag: "Flow versions", auth: "secret" } as const;

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

/** `/v2/projects/{project_id}/draft`: the flow that people edit before it becomes a version. */
export function createDraftOperations(deps: ApiDeps, { checkFlow }: ApiServices): Operation[] {
  const { db, reads } = deps;

  return [
    defineOperation({
      ...COMMON,
      id: "getDraft",
      method: "GET",
      path: "/v2/projects/{project_id}/draft",
      summary: "Get a project's draft",
      description:
        "Returns the draft, a flow that is being edited, with its problems. Returns 404 if the project has no draft. Credentials written into the flow are masked for viewers.",
      params,
      success: { 200: { description: "The draft.", schema: draftSchema, headers: ETAG } },
      async handler({ params: { project_id }, principal }) {
        const draft = await db.org(principal.org_id, async (connection) => {
          required(await findProject(connection, project_id), "project");
          return requireDraft(connection, project_id);
        });
        const body = presentDraft(draft, await checkFlow(principal, draft.flow, project_id), principal);
        return { status: 200, body, headers: { ETag: revisionTag(draft.revision) } };
      },
    }),
    defineOperation({
      ...COMMON,
      id: "saveDraft",
      audit: "run",
      method: "PUT",
      path: "/v2/projects/{project_id}/draft",
      summary: "Save a project's draft",
      description: `Saves a flow as the draft. A draft may be invalid: the response lists its problems. Only a flow beyond the limits of size is rejected. Every change is a step
(\`GET /v2/projects/{project_id}/draft/steps\`), kept for a day.

Send \`If-Match\` with the ETag of the draft that you changed, or \`If-None-Match: *\` for the first draft. If another person has changed it in the
meantime, the response is a 412 with \`change\` (who did what, and when), \`draft\` (the current one) and \`base\` (the one that you started from, if
it is still kept), and nothing is saved. Without these headers the draft is replaced.`,
      params,
      headers: saveHeaders,
      body: z.strictObject({ flow: draftFlowSchema }).meta({ id: "DraftSave" }),
      wideBody: true,
      examples: { flow: { flow: EXAMPLE_FLOW } },
      success: {
        200: { description: "Draft saved.", schema: savedDraftSchema, headers: ETAG },
        201: {
          description: "Draft created.",
          schema: savedDraftSchema,
          headers: ETAG,
        },
      },
      async handler({ params: { project_id }, headers, body, principal }) {
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
    defineOperation({
      ...COMMON,
      id: "deleteDraft",
      method: "DELETE",
      path: "/v2/projects/{project_id}/draft",
      summary: "Delete a project's draft",
      description:
        "Deletes the draft. Versions are kept. For a day the draft can still be read as a step, and saved again.",
      params,
      headers: ifMatchHeaders,
      success: { 204: { description: "The project has no draft." } },
      async handler({ params: { project_id }, headers, principal, audit }) {
        await db.orgTransaction(principal.org_id, async (connection) => {
          const requireMatch = requireDraftMatch(headers);
          const change = { project_id, flow: null, author: principal, requireMatch };
          const { before } = await changeDraft(connection, change);
          await audit(connection, {
            target: { type: "project", id: project_id },
            ...(before && { before: presentDraftStep(before) }),
          });
        });
        return { status: 204 };
      },
    }),
    defineOperation({
      ...COMMON,
      id: "listDraftSteps",
      method: "GET",
      path: "/v2/projects/{project_id}/draft/steps",
      summary: "List the steps of a project's draft",
      description:
        "Lists the steps of the draft, newest first, without their flows. Steps are kept for a day. After ten minutes, only the last step that one person made within a minute is kept.",
      params,
      query: listQuery,
      success: { 200: { description: "A page of steps.", schema: pageOf(draftStepSchema, "DraftStepPage") } },
      async handler({ params: { project_id }, query, principal }) {
        return reads.org(principal.org_id, async (connection) => {
          if (!(await findProject(connection, project_id))) throw notFound("project");
          return listPage({
            list: "draft-steps",
            orgId: principal.org_id,
            query,
            filters: { project_id },
            fetch: (keyset) => listDraftSteps(connection, project_id, keyset),
            idOf: ({ revision }) => String(revision),
            isId: (text) => /^[1-9]\d{0,9}$/.test(text),
            present: presentDraftStep,
          });
        });
      },
    }),
    defineOperation({
      ...COMMON,
      id: "getDraftStep",
      method: "GET",
      path: "/v2/projects/{project_id}/draft/steps/{revision}",
      summary: "Get a step of a project's draft",
      description:
        "Returns the step with its flow. To restore it, save its flow as the draft. Credentials written into the flow are masked for viewers.",
      params: stepParams,
      success: { 200: { description: "The step.", schema: draftStepWithFlowSchema } },
      async handler({ params: { project_id, revision }, principal }) {
        const step = await db.org(principal.org_id, async (connection) => {
          required(await findProject(connection, project_id), "project");
          return required(await findDraftStep(connection, project_id, revision), "step of the draft");
        });
        return { status: 200, body: presentDraftStepWithFlow(step, principal) };
      },
    }),
  ];
}
