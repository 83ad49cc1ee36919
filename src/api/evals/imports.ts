import { Readable } from "node:stream";
import { z } from "zod";
import { notFound, required, tooLarge } from "../../domain/errors.ts";
import {
  FILE_TYPES,
  IMPORT_MODES,
  MAX_IMPORT_ROWS,
  mappingSchema,
  runFilterSchema,
  IMPORT_STATUSES,
  type FileType,
  type ImportSource,
} from "../../domain/evals/import.ts";
import { BlobTooLarge } from "../../platform/blobs/blobs.ts";
import { discardBlob } from "../../services/documents/discard-documents.ts";
import { requireDataset } from "../../services/evals/datasets.ts";
import { requireProject } from "../../services/projects/projects.ts";
import { findImport, insertImport, type NewImport, type ImportRow } from "../../stores/evals/imports.ts";
import { wantStarts } from "../../stores/starts/workflow-starts.ts";
import type { HandlerDeps } from "../deps.ts";
import { created, linksTo, type JsonAnswer } from "../http/operation.ts";
import { asDeclared, named, namedStrict, pathId } from "../http/schemas.ts";
import { jsonField, readMultipart } from "../http/read-multipart.ts";
import { DATASET, datasetParams, values, define } from "./datasets.ts";

const importSchema = named("DatasetImport", {
  import_id: z.uuid(),
  dataset_id: z.uuid(),
  status: z.enum(IMPORT_STATUSES),
  mode: z.enum(IMPORT_MODES),
  dry_run: z.boolean(),
  counts: z.object({
    read: z.int(),
    created: z.int(),
    updated: z.int(),
    skipped: z.int().describe("Rows that already existed and did not change."),
    failed: z.int(),
    removed: z.int().describe("Rows that `replace` deletes because the import does not contain them."),
  }),
  errors: z
    .array(z.object({ line: z.int().nullable(), code: z.string(), message: z.string() }))
    .describe("Up to 100 errors; `counts.failed` counts all. `line` is `null` for errors of the whole import."),
  preview: z.array(values).describe("The first ten rows as they will be stored."),
  version: z.int().nullable().describe("Dataset version that contains the rows; `null` for a dry run."),
  created_at: z.iso.datetime(),
  finished_at: z.iso.datetime().nullable(),
});

function presentImport(row: ImportRow): z.infer<typeof importSchema> {
  const preview = row.preview.map(({ source_run_id: _run, ...shown }) => shown);
  return asDeclared(importSchema, { ...row, preview });
}

const IMPORTS = `${DATASET}/imports` as const;
const params = datasetParams.extend({ import_id: pathId("import") });

const address = z.url({ protocol: /^https?$/, error: "Must be an http or https URL" }).max(2048);
const fileSource = z
  .strictObject({
    type: z.enum(FILE_TYPES),
    text: z.string().min(1).optional().describe("Content of the file."),
    url: address.optional().describe("URL of the file."),
  })
  .refine(({ text, url }) => (text === undefined) !== (url === undefined), {
    message: "Send either text or url; send a file as multipart/form-data",
  });
const runsSource = z.strictObject({
  type: z.literal("runs"),
  filter: runFilterSchema,
  limit: z.int().min(1).max(MAX_IMPORT_ROWS).default(1000).describe("Number of runs to import, newest first."),
});
const options = {
  mode: z
    .enum(IMPORT_MODES)
    .default("append")
    .describe(
      "`append` does not change rows whose external ID exists already; `upsert` updates them; `replace` also deletes all other rows.",
    ),
  on_error: z
    .enum(["skip", "abort"])
    .optional()
    .describe(
      "`abort`: the first record that cannot become a row stops the import, and nothing is written; `skip` (default): such records are skipped, but a `replace` with more failed than valid records fails as a whole.",
    ),
  dry_run: z.boolean().default(false).describe("`true` only reports what the import would write."),
};
const importBody = namedStrict("DatasetImportCreate", {
  source: z.union([runsSource, fileSource]),
  mapping: mappingSchema.nullish(),
  ...options,
});
const importForm = namedStrict("DatasetImportUpload", {
  file: z.file().describe("The file to import: CSV, JSONL or JSON."),
  type: z.enum(FILE_TYPES).optional().describe("Type of the file. Default: by the file name, otherwise CSV."),
  mapping: jsonField(mappingSchema).optional(),
  ...options,
});

async function store(
  { blobs, config }: HandlerDeps,
  orgId: string,
  content: AsyncIterable<Uint8Array>,
): Promise<string> {
  const maxBytes = config.MILLRACE_UPLOAD_LIMIT_BYTES;
  try {
    return (await blobs.put(orgId, content, { maxBytes })).key;
  } catch (error) {
    throw error instanceof BlobTooLarge ? tooLarge("file", maxBytes) : error;
  }
}

async function begin(
  deps: HandlerDeps,
  given: Omit<NewImport, "on_error"> & { readonly on_error?: NewImport["on_error"] | undefined },
): Promise<JsonAnswer> {
  const row = { ...given, on_error: given.on_error ?? null };
  const { org_id, import_id, dataset_id } = row;
  const inserted = await deps.db.orgTransaction(org_id, async (connection) => {
    if (!(await insertImport(connection, row))) return false;
    await wantStarts(connection, "import", [{ org_id, import_id }]);
    return true;
  });
  // If the same request is repeated, the file of the first one is read.
  if (!inserted && "blob_key" in row.source) await discardBlob(deps, row.source.blob_key);
  const found = required(await deps.db.org(org_id, (connection) => findImport(connection, import_id)), "import");
  return {
    status: 202,
    body: presentImport(found),
    headers: { Location: `/v2/evals/datasets/${dataset_id}/imports/${import_id}` },
  };
}

async function sourceOf(
  deps: HandlerDeps,
  orgId: string,
  source: z.output<typeof importBody>["source"],
): Promise<ImportSource> {
  if (source.type === "runs") {
    await requireProject(deps.db, orgId, source.filter.project_id, "project");
    return source;
  }
  if (source.url !== undefined) return { type: source.type, url: source.url };
  const content = Readable.from([Buffer.from(source.text ?? "")]) as AsyncIterable<Uint8Array>;
  return { type: source.type, blob_key: await store(deps, orgId, content) };
}

/** `/v2/evals/datasets/{dataset_id}/imports`: rows from files and from runs. */
export const importOperations = [
  define({
    id: "createDatasetImport",
    route: `POST ${IMPORTS}`,
    summary: "Import rows into a dataset",
    description: `Imports up to ${MAX_IMPORT_ROWS} rows from a file (as \`text\`, from a URL, or as multipart \`file\` with fields) or from runs of a flow. The import
runs in the background and is applied atomically: either one new dataset version is created, or nothing changes. Runs of experiments and
child runs are never imported. A row made from a run has the run ID as its external ID.`,
    params: datasetParams,
    body: importBody.optional(),
    multipart: importForm,
    bodyLimit: "run",
    wideBody: true,
    idempotent: "claim",
    problems: ["bad_request"],
    examples: {
      csv: {
        source: { type: "csv", text: "question,answer\nWhen do you open?,At nine.\n" },
        mapping: { inputs: { "in-0": "question" }, expected_outputs: { "out-0": "answer" } },
      },
      runs: {
        source: { type: "runs", filter: { project_id: "0197f0a0-0000-7000-8000-000000000000" }, limit: 100 },
        mode: "upsert",
        dry_run: true,
      },
    },
    success: {
      202: created("Import accepted.", importSchema, linksTo("getDatasetImport", ["import_id"], ["dataset_id"])),
    },
    async handler({ params: { dataset_id }, body, principal: { org_id }, ctx, newId }, deps) {
      await deps.db.org(org_id, (connection) => requireDataset(connection, dataset_id));
      const ids = { import_id: newId(), org_id, dataset_id };
      if (body === undefined) {
        const { files, fields } = await readMultipart(
          ctx,
          importForm,
          { maxFileBytes: deps.config.MILLRACE_UPLOAD_LIMIT_BYTES },
          {
            take: async (file) => ({ key: await store(deps, org_id, file.content), name: file.filename }),
            undo: ({ key }: { key: string; name: string }) => discardBlob(deps, key),
          },
        );
        const [file] = files;
        const type = fields.type ?? typeOf(file?.name ?? "");
        const source: ImportSource = { type, blob_key: file?.key ?? "" };
        return await begin(deps, { ...ids, ...fields, source, mapping: fields.mapping ?? null });
      }
      const source = await sourceOf(deps, org_id, body.source);
      return await begin(deps, { ...ids, ...body, source, mapping: body.mapping ?? null });
    },
  }),
  define({
    id: "getDatasetImport",
    route: `GET ${IMPORTS}/{import_id}`,
    summary: "Get a dataset import",
    description:
      "Returns an import with its counts and errors so far. An import runs in the background; poll until it reaches a final state.",
    params,
    success: { 200: { description: "The import.", schema: importSchema } },
    async handler({ params: { dataset_id, import_id }, principal: { org_id } }, { db }) {
      const found = await db.org(org_id, async (connection) => {
        await requireDataset(connection, dataset_id);
        return await findImport(connection, import_id);
      });
      if (found?.dataset_id !== dataset_id) throw notFound("import");
      return { status: 200, body: presentImport(found) };
    },
  }),
];

function typeOf(filename: string): FileType {
  const ending = filename.slice(filename.lastIndexOf(".") + 1).toLowerCase();
  if (ending === "ndjson") return "jsonl";
  return FILE_TYPES.find((type) => type === ending) ?? "csv";
}
