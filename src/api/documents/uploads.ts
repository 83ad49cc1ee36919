import {
  VERSION_PROBLEMS,
  environmentMember,
  requireOneVersion,
  requirePublicEnvironment,
} from "../http/environment.ts";
import { z } from "zod";
import { invalid, notFound } from "../../domain/errors.ts";
import type { Plan } from "../../domain/flow/plan/types.ts";
import { operationsOf } from "../http/operation.ts";
import { presentUploadedDocument, uploadedDocumentSchema } from "./document-presenter.ts";
import { freezeDraft } from "../../services/projects/drafts.ts";
import { receiveUpload, uploadForm, uploadNodes } from "./receive-upload.ts";
import type { UploadNode } from "./receive-upload.ts";
import { userHandle, visibleText } from "../http/text-fields.ts";

const ADDRESSES = [
  { path: "/upload_to_storage_user", id: "uploadDocument", summary: "Upload a document to a document node" },
  { path: "/upload_to_supabase_user", id: "uploadDocumentOlderName", summary: "Upload a document (legacy path)" },
] as const;

const query = z.object({
  org: visibleText(64).describe("ID of the credential's organisation."),
  user_id: userHandle,
  flow_id: visibleText(64).describe("ID of the flow (its project ID)."),
  node_id: visibleText(64)
    .optional()
    // This default is only documented: the node that is used depends on the flow.
    .meta({
      default: "doc-0",
      description:
        "ID of the document node. Can be omitted if the flow has exactly one document node. Nodes that read audio or images must always be named.",
    }),
  environment: environmentMember.describe(
    "Looks for the node in the version of this environment. Default: `production`. Public keys can name no other one.",
  ),
  run_draft: z
    .boolean()
    .default(false)
    .describe("`true` looks for the node in the project's draft. Needs the role `editor`; public keys cannot."),
});

const DESCRIPTION =
  "Uploads a document to a document node of a flow. The file is stored first and read in the background: `status` starts as `pending`. Runs with the same `user_id` wait until it has been read. Uploading the same file name again for the same organisation, `user_id`, flow and node replaces the earlier file. The file type is detected from the content; the declared type is ignored. With an `Idempotency-Key` the same file is stored once; a different file with that key returns 409.";

const define = operationsOf({ tag: "Documents", auth: "public" });

/** `/upload_to_storage_user` and its older name. */
export const uploadOperations = ADDRESSES.map(({ path, id, summary }) =>
  define({
    id,
    route: `POST ${path}`,
    summary,
    description: DESCRIPTION,
    query,
    multipart: uploadForm,
    idempotent: "claim",
    createdId: "file_id",
    problems: [...VERSION_PROBLEMS, "bad_request", "not_found", "quota_exceeded"],
    success: { 200: { description: "The document, not read yet.", schema: uploadedDocumentSchema } },
    async handler({ query: { org, user_id, flow_id, node_id, environment, run_draft }, principal, ctx, newId }, deps) {
      const { org_id } = principal;
      if (org.toLowerCase() !== org_id) throw notFound("flow");
      requireOneVersion("query", { version: -1, draft: run_draft, environment });
      if (principal.access === "public") requirePublicEnvironment(environment);
      const { project, plan } = run_draft
        ? await freezeDraft(deps, principal, flow_id, ["query", "run_draft"])
        : await deps.flows.get(org_id, flow_id, -1, environment);
      const node = documentNode(plan, node_id);
      const { project_id } = project;
      const place = { org_id, project_id, user_id, node, file_id: newId() };
      const { document, replayed } = await receiveUpload(deps, ctx, place);
      const body = presentUploadedDocument(document);
      return { status: 200, body, ...(replayed && { headers: { "Idempotent-Replayed": "true" } }) };
    },
  }),
);

/**
 * The node that a request addresses. Throws 422 if the flow has no document node, or if it has more than one and the request names none.
 */
function documentNode(plan: Plan, nodeId: string | undefined): UploadNode {
  const all = uploadNodes(plan);
  const nodes = all.filter(({ type }) => type === "files");
  const [only, ...others] = nodes;
  const names = all.map(({ id }) => id).join(", ");
  if (all.length === 0) throw invalid(["query", "flow_id"], "The flow has no document node", "value_error");
  if (nodeId === undefined) {
    if (!only)
      throw invalid(["query", "node_id"], `The flow has no document node; use one of these nodes: ${names}`, "missing");
    if (others.length > 0)
      throw invalid(
        ["query", "node_id"],
        `The flow has several document nodes; set the node to one of: ${names}`,
        "missing",
      );
    return only;
  }
  const node = all.find(({ id }) => id === nodeId);
  if (!node)
    throw invalid(["query", "node_id"], `The flow does not have this document node; its document nodes are ${names}`);
  return node;
}
