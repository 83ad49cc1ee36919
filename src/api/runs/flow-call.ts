import { z } from "zod";
import { noSuchVersion, notFound } from "../../domain/errors.ts";
import { jsonValueSchema } from "../../domain/json-schema.ts";
import { getRun } from "../../stores/runs/runs.ts";
import type { RunRow } from "../../stores/runs/runs.ts";
import type { ApiDeps, ApiServices } from "../deps.ts";
import type { Principal } from "../../domain/accounts/principal.ts";
import type { StartedBy } from "../../services/triggers/chain.ts";
import { pathId } from "../http/path-id.ts";
import { userHandle } from "../http/text-fields.ts";
import { ranBy, requireInputs } from "../../services/runs/run-inputs.ts";
import { versionMember } from "./run-request.ts";

// If a flow cannot be called, nobody learns whether the organisation or the flow is wrong: both give the same 404.
export const flowParams = z.object({
  org_id: pathId("credential's organisation"),
  flow_id: pathId("flow, which is its project's"),
});

export const flowQuery = z.object({ version: versionMember });

/** The body of an inference call: inputs by node id. Values that no input takes are ignored and reported. */
export const flowBody = z
  .object({
    user_id: z
      .union([userHandle, z.literal("")])
      .nullish()
      .describe("The `<user>-<conversation>` handle whose documents the run sees; empty is none."),
    stream: jsonValueSchema.optional().describe("Reserved; has no meaning."),
  })
  .catchall(jsonValueSchema)
  .meta({
    id: "FlowInputs",
    description:
      "The flow's inputs: `<node_id>` to value. Text for a text or string input, an http(s) address for a URL input, base64 for audio and images. Members that no input takes are ignored and reported.",
  });

export interface FlowCall {
  readonly params: { readonly org_id: string; readonly flow_id: string };
  readonly query: { readonly version: number };
  readonly body: z.output<typeof flowBody>;
  readonly principal: Principal;
  readonly run_id: string;
  /** See RunRequest. */
  readonly started_by: StartedBy | undefined;
  readonly repeated: boolean;
  /** The caller only asks for confirmation that the run has been accepted. */
  readonly asynchronous?: boolean;
}

/**
 * Makes the steps that begin every inference call: find the flow, check the inputs, create the run. Throws 404 for an
 * unknown flow or version and 422 for its inputs.
 */
export function createFlowCall(
  { config, db }: Pick<ApiDeps, "config" | "db">,
  { flows, runService }: Pick<ApiServices, "flows" | "runService">,
): (call: FlowCall) => Promise<RunRow> {
  const limits = { db, maxInputBytes: config.MILLRACE_INPUT_LIMIT_BYTES };
  return async ({ params, query, body, principal, run_id, started_by, repeated, asynchronous = false }) => {
    const { org_id } = principal;
    const isPublic = principal.access === "public";
    if (params.org_id !== org_id) throw notFound("flow");
    // A version or a limit that has changed since does not change a run that already exists.
    const known = repeated ? await db.org(org_id, (connection) => getRun(connection, run_id)) : null;
    if (known && isPublic && !(await flows.wasPublished(known))) throw noSuchVersion();
    if (known) return known;
    const find = isPublic ? flows.getPublished : flows.get;
    const { project, version, plan } = await find(org_id, params.flow_id, query.version);
    const { project_id } = project;
    const user_id = body.user_id || null;
    const { inputs, ignored } = await requireInputs(limits, { org_id, project_id, user_id, plan }, body);
    return runService.create(
      {
        org_id,
        run_id,
        project_id,
        version,
        plan,
        inputs,
        ignored_inputs: ignored,
        user_id,
        run_type: "api",
        started_by,
        ...ranBy(principal),
      },
      { repeated: false, asynchronous },
    );
  };
}
