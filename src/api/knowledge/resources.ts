import { z } from "zod";
import { ValidationProblem, notFound, type ValidationIssue } from "../../domain/errors.ts";
import { RESOURCE_STATUSES } from "../../domain/knowledge/knowledge-base.ts";
import { mediaType, readMetadata, type Metadata } from "../../domain/knowledge/metadata.ts";
import { discardBlob } from "../../services/documents/discard-documents.ts";
import { storeUpload, type StoredUpload } from "../../services/documents/store-upload.ts";
import { loadExtractedText } from "../../services/knowledge/extracted-text.ts";
import { changeResource } from "../../services/knowledge/change-resource.ts";
import {
  addResources,
  idsOf,
  storeText,
  type AddedResource,
  type ResourceToAdd,
} from "../../services/knowledge/ingest.ts";
import { requireKnowledgeBase } from "../../services/knowledge/knowledge-bases.ts";
import { deleteResource } from "../../services/knowledge/remove.ts";
import type { KnowledgeBaseRow } from "../../stores/knowledge/knowledge-bases.ts";
import { listResources, type NewResource, type ResourceRow } from "../../stores/knowledge/resources.ts";
import type { HandlerDeps } from "../deps.ts";
import { ETAG, contentTag, ifMatchHeaders, requireMatch, tagged } from "../http/etag.ts";
import { listPage, listQuery, pageOf } from "../http/list.ts";
import { linksTo, type JsonAnswer, type RequestContext } from "../http/operation.ts";
import { named, pathId } from "../http/schemas.ts";
import { readMultipart } from "../http/read-multipart.ts";
import {
  resourceChange,
  resourceForm,
  resourcesBody,
  presentResource,
  resourceSchema,
  type ResourceInputBody,
} from "./resource-schemas.ts";
import {
  downloadOperation,
  ONE_RESOURCE as ONE,
  requireResource,
  resourceParams as params,
  readCurrent,
  define,
} from "./resource-download.ts";

const PATH = "/v2/knowledge-bases/{knowledge_base_id}/resources";

const baseParams = z.object({ knowledge_base_id: pathId("knowledge base") });

const accepted = named("KnowledgeBaseResourceAccepted", {
  message: z.string(),
  resource_id: z.uuid(),
  status: z.enum(RESOURCE_STATUSES),
});
const acceptedSchema = z
  .union([accepted, z.object({ message: z.string(), resources: z.array(accepted) })])
  .describe("The ID of the document or, for a request with `resources`, an array of IDs in the same order.")
  .meta({ id: "KnowledgeBaseResourcesAccepted" });

const MESSAGES: Readonly<Record<AddedResource["outcome"], string>> = {
  added: "The resource will be indexed.",
  replaced: "The resource will be indexed in place of the one before.",
  unchanged: "The resource is there already.",
};

const DESCRIPTION =
  "Adds one document as multipart `file` with fields, as `{url}` or as `{text, name}`, or several URLs and texts as `{resources: [...]}`; all are accepted or none. They are read and indexed in the background: get the document to see its status. A document that cannot be read gets the status `error` with a code and a message. With an `Idempotency-Key` a repeated request adds nothing.";

function requireBase({ db }: HandlerDeps, orgId: string, knowledgeBaseId: string): Promise<KnowledgeBaseRow> {
  return db.org(orgId, (connection) => requireKnowledgeBase(connection, knowledgeBaseId));
}

/** Adds resources; if they are refused, the content stored for them is removed. */
async function add(deps: HandlerDeps, orgId: string, toAdd: readonly ResourceToAdd[]): Promise<AddedResource[]> {
  try {
    return await addResources(deps, orgId, toAdd);
  } catch (error) {
    for (const { resource } of toAdd) if (resource.blob_key !== null) await discardBlob(deps, resource.blob_key);
    throw error;
  }
}

async function addUpload(
  deps: HandlerDeps,
  ctx: RequestContext,
  base: KnowledgeBaseRow,
  id: string,
): Promise<JsonAnswer> {
  const { org_id } = base;
  const maxBytes = deps.config.MILLRACE_UPLOAD_LIMIT_BYTES;
  const { files, fields } = await readMultipart(
    ctx,
    resourceForm,
    { maxFileBytes: maxBytes },
    {
      take: (file) => storeUpload(deps.blobs, org_id, file, { maxBytes, images: base.indexing_params.ocr }),
      undo: ({ key }: StoredUpload) => discardBlob(deps, key),
    },
  );
  const upload = files[0] as StoredUpload;
  const issues: ValidationIssue[] = [];
  const user_metadata = checkMetadata(base, fields.user_metadata, ["body", "user_metadata"], issues);
  if (issues.length > 0) {
    await discardBlob(deps, upload.key);
    throw new ValidationProblem(issues);
  }
  const { mime_type, charset } = upload;
  const resource: NewResource = {
    ...common(base, id, fields.external_id, user_metadata),
    resource_path: upload.filename,
    source: "upload",
    source_url: null,
    content_hash: upload.sha256,
    content_mime: charset === null ? mime_type : `${mime_type}; charset=${charset}`,
    size: upload.size,
    blob_key: upload.key,
  };
  const [added] = await add(deps, org_id, [{ resource, onDuplicate: fields.on_duplicate }]);
  return { status: 202, body: presentAdded(added as AddedResource) };
}

async function prepare(
  { blobs }: HandlerDeps,
  base: KnowledgeBaseRow,
  id: string,
  input: ResourceInputBody,
  user_metadata: Metadata,
): Promise<ResourceToAdd> {
  const { url, text, name, external_id, on_duplicate } = input;
  const content =
    text === undefined
      ? { content_hash: null, content_mime: null, size: 0, blob_key: null }
      : await storeText(blobs, base.org_id, { name: name ?? "", text: text.toWellFormed() });
  const source_url = url === undefined ? null : new URL(url).href;
  const resource: NewResource = {
    ...common(base, id, external_id, user_metadata),
    ...content,
    resource_path: name ?? source_url ?? "",
    source: url === undefined ? "text" : "url",
    source_url,
  };
  return { resource, onDuplicate: on_duplicate };
}

/** `/v2/knowledge-bases/{knowledge_base_id}/resources`: the documents of a knowledge base. */
export const resourceOperations = [
  define({
    id: "listKnowledgeBaseResources",
    route: `GET ${PATH}`,
    summary: "List the documents of a knowledge base",
    description:
      "Lists documents (`resources`) in every status, including the ones that could not be read, newest first.",
    params: baseParams,
    query: listQuery.extend({
      status: z
        .array(z.enum(RESOURCE_STATUSES))
        .min(1)
        .max(20)
        .optional()
        .describe("Filter by one or more values. Repeat the parameter for several."),
      path_prefix: z
        .string()
        .min(1)
        .max(2048)
        .optional()
        .describe("Only documents whose `resource_path` starts with this text."),
      mime: z
        .string()
        .min(1)
        .max(255)
        .optional()
        .describe("Only documents with this `content_mime`, ignoring its parameters."),
      external_id: z.string().min(1).max(512).optional(),
    }),
    success: { 200: { description: "A page of documents.", schema: pageOf(resourceSchema) } },
    async handler({ params: { knowledge_base_id }, query, principal: { org_id } }, deps) {
      await requireBase(deps, org_id, knowledge_base_id);
      const { status, path_prefix, mime, external_id } = query;
      const search = {
        statuses: status ? [...new Set(status)].toSorted() : null,
        path_prefix: path_prefix ?? null,
        content_mime: mime === undefined ? null : mediaType(mime),
        external_id: external_id ?? null,
      };
      return listPage("knowledge-base-resources", org_id, query, {
        filters: { knowledge_base_id, ...search },
        fetch: (keyset) =>
          deps.reads.org(org_id, (connection) => listResources(connection, knowledge_base_id, search, keyset)),
        idOf: (resource) => resource.resource_id,
        present: presentResource,
      });
    },
  }),
  define({
    id: "createKnowledgeBaseResources",
    route: `POST ${PATH}`,
    summary: "Add documents to a knowledge base",
    description: DESCRIPTION,
    params: baseParams,
    body: resourcesBody.optional(),
    multipart: resourceForm,
    idempotent: "claim",
    problems: ["bad_request", "conflict", "quota_exceeded"],
    examples: { url: { url: "https://example.com/" }, text: { name: "hours.md", text: "We open at nine." } },
    success: {
      202: {
        description: "Accepted for indexing.",
        schema: acceptedSchema,
        links: linksTo("getKnowledgeBaseResource", ["resource_id"], ["knowledge_base_id"]),
      },
    },
    async handler({ params: { knowledge_base_id }, body, principal: { org_id }, ctx, newId }, deps) {
      const base = await requireBase(deps, org_id, knowledge_base_id);
      if (body === undefined) return await addUpload(deps, ctx, base, newId());
      const inputs = body.resources ?? [body];
      const issues: ValidationIssue[] = [];
      const metadata = inputs.map(({ user_metadata }, index) => {
        const place = body.resources === undefined ? ["body"] : ["body", "resources", index];
        return checkMetadata(base, user_metadata, [...place, "user_metadata"], issues);
      });
      if (issues.length > 0) throw new ValidationProblem(issues);
      const ids = idsOf(newId(), inputs.length);
      const toAdd: ResourceToAdd[] = [];
      for (const [index, input] of inputs.entries()) {
        toAdd.push(await prepare(deps, base, ids[index] ?? "", input, metadata[index] ?? {}));
      }
      const added = (await add(deps, org_id, toAdd)).map(presentAdded);
      if (body.resources === undefined) return { status: 202, body: added[0] };
      return { status: 202, body: { message: "The resources are accepted.", resources: added } };
    },
  }),
  define({
    id: "getKnowledgeBaseResource",
    route: `GET ${ONE}`,
    summary: "Get a document of a knowledge base",
    description: "Returns the document and its status; with `expand=text` also its extracted text.",
    params,
    query: z.object({ expand: z.enum(["text"]).optional().describe("`text` adds the extracted text.") }),
    success: { 200: { description: "The document.", schema: resourceSchema, headers: ETAG } },
    async handler({ params: path, query: { expand }, principal: { org_id } }, { db, blobs }) {
      const find = () => requireResource(db, org_id, path);
      const withText = async (row: ResourceRow) => ({
        row,
        text: row.text_blob_key === null ? null : (await loadExtractedText(blobs, row.text_blob_key)).text,
      });
      const present = await find();
      const { row, ...text } =
        expand === undefined
          ? { row: present }
          : ((await readCurrent(present, find, withText)) ?? { row: present, text: null });
      return tagged({ ...presentResource(row), ...text }, tagOf(row));
    },
  }),
  define({
    id: "changeKnowledgeBaseResource",
    route: `PATCH ${ONE}`,
    summary: "Change a document's name or metadata",
    description:
      "Changes the document's name or its `user_metadata`. Queries use the new values as soon as this call has returned. The document is not read or indexed again.",
    params,
    headers: ifMatchHeaders,
    body: resourceChange,
    examples: { fields: { user_metadata: { department: "legal", year: null } }, name: { name: "handbook-2026.pdf" } },
    success: { 200: { description: "The updated document.", schema: resourceSchema, headers: ETAG } },
    async handler({ params: path, headers, body, principal: { org_id }, audit }, { db }) {
      const { knowledge_base_id, resource_id } = path;
      const resource = await changeResource(
        db,
        org_id,
        knowledge_base_id,
        resource_id,
        body,
        (found) => requireMatch(headers["if-match"], tagOf(found)),
        { audit, target: { type: "resource", id: resource_id }, view: presentResource },
      );
      return tagged(presentResource(resource), tagOf(resource));
    },
  }),
  define({
    id: "deleteKnowledgeBaseResource",
    route: `DELETE ${ONE}`,
    summary: "Delete a document of a knowledge base",
    description: "Deletes the document. Queries that start after the response do not return it.",
    params,
    success: { 204: { description: "Deleted." } },
    async handler({ params: path, principal: { org_id }, audit }, deps) {
      await requireBase(deps, org_id, path.knowledge_base_id);
      const { knowledge_base_id, resource_id } = path;
      const audited = { audit, target: { type: "resource", id: resource_id }, view: presentResource };
      const of = { database: deps.db, blobs: deps.blobs };
      if (!(await deleteResource(of, org_id, knowledge_base_id, resource_id, audited))) throw notFound("resource");
    },
  }),
  downloadOperation,
];

/** Covers the editable fields of a resource, not the progress of its indexing. */
const tagOf = ({ resource_path, user_metadata }: ResourceRow): string => contentTag({ resource_path, user_metadata });

function common(base: KnowledgeBaseRow, resource_id: string, external_id: string | undefined, user_metadata: Metadata) {
  const { org_id, knowledge_base_id } = base;
  return {
    resource_id,
    org_id,
    knowledge_base_id,
    external_id: external_id ?? null,
    user_metadata,
  };
}

function checkMetadata(
  base: KnowledgeBaseRow,
  given: Readonly<Record<string, unknown>> | undefined,
  loc: ReadonlyArray<string | number>,
  issues: ValidationIssue[],
): Metadata {
  const read = readMetadata(base.user_metadata_schema, given ?? {}, loc);
  issues.push(...read.issues);
  return read.metadata;
}

function presentAdded({ resource_id, status, outcome }: AddedResource): z.infer<typeof accepted> {
  return { message: MESSAGES[outcome], resource_id, status };
}
