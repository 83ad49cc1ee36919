import { z } from "zod";
import { noSuchVersion, notFound } from "../../domain/errors.ts";
import { jsonValueSchema } from "../../domain/json-schema.ts";
import { getRun, type RunRow } from "../../stores/runs/runs.ts";
import type { HandlerDeps } from "../deps.ts";
import type { Principal } from "../../domain/accounts/principal.ts";
import type { StartedBy } from "../../services/triggers/chain.ts";
import {
  environmentMember,
  requireOneVersion,
  requirePublicEnvironment,
  DRAFT_IN_QUERY,
  versionMember,
} from "../http/run-request.ts";
import { pathId, userHandle } from "../http/schemas.ts";
import { freezeDraft } from "../../services/projects/drafts.ts";
import { ranBy, requireInputs } from "../../services/runs/run-inputs.ts";

// If a flow cannot be called, the caller must not learn whether the organisation or the flow is wrong: both return the same 404.
export const flowParams = z.object({
  org_id: pathId("credential's organisation"),
  flow_id: pathId("flow (its project ID)"),
});

export const flowQuery = z.object({
  version: versionMember,
  environment: environmentMember,
  run_draft: z
    .boolean()
    .default(false)
    .describe("`true` runs the project's draft and ignores `version`. Needs the role `editor`; public keys cannot."),
});

/** The body of an inference call: inputs by node id. Values that no input takes are ignored and reported. */
export const flowBody = z
  .object({
    user_id: z
      .union([userHandle, z.literal("")])
      .nullish()
      .describe("The `user_id` (`<user>-<conversation>`) whose documents the run can read; empty means none."),
    stream: jsonValueSchema.optional().describe("Reserved; has no meaning."),
  })
  .catchall(jsonValueSchema)
  .meta({
    id: "FlowInputs",
    description:
      "The flow's inputs, keyed by node ID. Text for a text or string input, an http(s) URL for a URL input, base64 for audio and images. Fields that match no input are ignored and reported.",
  });

export interface FlowCall {
  readonly params: { readonly org_id: string; readonly flow_id: string };
  readonly query: { readonly version: number; readonly run_draft: boolean; readonly environment?: string | undefined };
  readonly body: z.output<typeof flowBody>;
  readonly principal: Principal;
  readonly run_id: string;
  /** See RunRequest. */
  readonly started_by: StartedBy | undefined;
  readonly repeated: boolean;
  /** The caller only wants confirmation that the run was accepted. */
  readonly asynchronous?: boolean;
}

/** The run of a call. `replayed` means that an earlier request with the same Idempotency-Key started it. */
export interface CalledRun {
  readonly row: RunRow;
  readonly replayed: boolean;
}

/**
 * The steps that begin every inference call: find the flow, check the inputs, create the run. Throws 404 for an unknown flow or version,
 * and 422 for invalid inputs.
 */
export async function callFlow(deps: HandlerDeps, call: FlowCall): Promise<CalledRun> {
  const { db, flows, runService } = deps;
  const { params, query, body, principal, run_id, started_by, repeated, asynchronous = false } = call;
  const { org_id } = principal;
  const isPublic = principal.access === "public";
  if (params.org_id !== org_id) throw notFound("flow");
  // A version or a limit that has changed since then does not affect a run that already exists.
  const known = repeated ? await db.org(org_id, (connection) => getRun(connection, run_id)) : null;
  if (known && isPublic && !(await flows.wasPublished(known))) throw noSuchVersion();
  if (known) return { row: known, replayed: true };
  requireOneVersion("query", { ...query, draft: query.run_draft });
  if (isPublic) requirePublicEnvironment(query.environment);
  const find = isPublic ? flows.getPublished : flows.get;
  const { project, version, plan, environment } = query.run_draft
    ? await freezeDraft(deps, principal, params.flow_id, DRAFT_IN_QUERY)
    : await find(org_id, params.flow_id, query.version, query.environment);
  const { project_id } = project;
  const user_id = body.user_id || null;
  const { inputs, ignored } = await requireInputs(deps, { org_id, project_id, user_id, plan }, body);
  const row = await runService.create(
    {
      org_id,
      run_id,
      project_id,
      version,
      plan,
      environment,
      inputs,
      ignored_inputs: ignored,
      user_id,
      run_type: query.run_draft ? "draft" : "api",
      started_by,
      ...ranBy(principal),
    },
    { repeated: false, asynchronous },
  );
  return { row, replayed: false };
}
