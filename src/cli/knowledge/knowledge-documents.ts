import { readdir, stat } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Option, type Command } from "@commander-js/extra-typings";
import { eachAtOnce } from "../../platform/at-once.ts";
import type { ResourceView } from "../../api/knowledge/resource-schemas.ts";
import type { presentSync } from "../../api/knowledge/syncs.ts";
import { ApiRefusal, type ApiClient } from "../api-client.ts";
import { CommandFailure } from "../failure.ts";
import { newest, showTable } from "../listing.ts";
import { apiCommand, openApi, show } from "../options.ts";
import { createProgress, plainText } from "../terminal.ts";
import { openUploadFile } from "../upload-file.ts";
import { readId } from "../values.ts";

interface Added {
  readonly name: string;
  readonly resource_id: string | null;
  status: string;
  error: { readonly code: string; readonly message: string } | null;
}

type Sync = ReturnType<typeof presentSync>;

const PATH = "/v2/knowledge-bases";
const POLL_MS = 500;
/** Most documents that are uploaded or polled at the same time. */
const LANES = 4;
const MAX_NAME = 512;
const OVER = ["completed", "failed", "cancelled"];

/** `kb add|documents|remove|sync`: add documents to a knowledge base, with progress until they are indexed. */
export function addDocumentCommands(kb: Command): void {
  const base = readId("a knowledge base", "kb list");

  apiCommand(kb, "add", "add files, folders and URLs; replaces documents added earlier from the same path")
    .argument("<knowledge_base_id>", "which", base)
    .argument("<what...>", "files, folders (without hidden files) or http URLs")
    .action(async (knowledgeBaseId, what, options) => {
      const { api } = openApi(options);
      const names = (await Promise.all(what.map(filesOf))).flat();
      if (names.length === 0)
        throw new CommandFailure(`No file found in ${what.join(", ")}; hidden files are not added.`, 2);
      const progress = createProgress();
      const added: Added[] = [];
      await eachAtOnce(names, LANES, async (name) => {
        added.push(await add(api, `${PATH}/${knowledgeBaseId}/resources`, name));
        progress.show(`${added.length} of ${names.length} sent`);
      });
      await untilIndexed(api, `${PATH}/${knowledgeBaseId}/resources`, added, (done) =>
        progress.show(`${done} of ${added.length} indexed`),
      );
      progress.end();
      const failed = added.filter(({ status }) => status === "error");
      show(options.json, added, () => [
        ...failed.map(
          ({ name, error }) => `${plainText(name)}: ${plainText(error?.message ?? "")} (${error?.code ?? ""})`,
        ),
        `${added.length - failed.length} of ${added.length} documents are indexed.`,
      ]);
      if (failed.length > 0) throw new CommandFailure("");
    });

  apiCommand(kb, "documents", "list the documents of a knowledge base, newest first")
    .argument("<knowledge_base_id>", "which", base)
    .action(async (knowledgeBaseId, options) => {
      const { api } = openApi(options);
      showTable(options.json, await newest<ResourceView>(api, `${PATH}/${knowledgeBaseId}/resources`), {
        DOCUMENT: ({ resource_id }) => resource_id,
        STATUS: ({ status }) => status,
        CHUNKS: ({ chunk_count }) => String(chunk_count),
        NAME: ({ source_url, resource_path }) => plainText(source_url ?? resource_path),
        ERROR: ({ error }) => plainText(error?.message ?? ""),
      });
    });

  apiCommand(kb, "remove", "delete documents from a knowledge base")
    .argument("<knowledge_base_id>", "which", base)
    .argument("<document_id...>", "document IDs, as `kb documents` shows them")
    .action(async (knowledgeBaseId, documents, options) => {
      documents.forEach(readId("a document", "kb documents"));
      const { api } = openApi(options);
      for (const id of documents) await api.delete(`${PATH}/${knowledgeBaseId}/resources/${id}`);
      show(options.json, { deleted: documents }, () => documents.map((id) => `deleted ${id}`));
    });

  apiCommand(kb, "sync", "read the sources of a knowledge base again and index what changed")
    .argument("<knowledge_base_id>", "which", base)
    .addOption(new Option("--full", "index all documents again, with the current settings").conflicts("dryRun"))
    .option("--dry-run", "report changes without applying them")
    .option("--keep-missing", "keep pages that the source no longer lists")
    .action(async (knowledgeBaseId, options) => {
      const { api } = openApi(options);
      const path = `${PATH}/${knowledgeBaseId}`;
      const mode = options.full === true ? "full" : options.dryRun === true ? "dry_run" : "incremental";
      const started = await api.post<{ sync_id: string }>(`${path}/sync`, {
        mode,
        delete_missing: options.keepMissing !== true,
      });
      const progress = createProgress();
      let sync: Sync;
      for (;;) {
        sync = await api.get<Sync>(`${path}/syncs/${started.sync_id}`);
        if (OVER.includes(sync.state)) break;
        progress.show(`${Object.values(sync.counts).reduce((sum, each) => sum + each, 0)} of ${sync.total} documents`);
        await delay(POLL_MS);
      }
      progress.end();
      show(options.json, sync, () => [
        ...(sync.errors ?? []).map(
          ({ address, code, message }) => `${plainText(address)}: ${plainText(message)} (${code})`,
        ),
        `${mode === "dry_run" ? "Dry run" : "Sync"} ${sync.state}: ${Object.entries(sync.counts)
          .map(([outcome, count]) => `${count} ${outcome}`)
          .join(", ")}`,
      ]);
      if (sync.state === "completed") return;
      throw new CommandFailure(
        // The message of an error already ends with a full stop.
        `The sync ${sync.sync_id} ${sync.state === "failed" ? `failed: ${plainText(sync.error?.message ?? "")}` : "was cancelled."}`,
      );
    });
}

/** A URL unchanged; a file; or the files of a folder and its subfolders. */
async function filesOf(what: string): Promise<string[]> {
  if (/^https?:\/\//i.test(what)) return [what];
  const found = await stat(what).catch((error: unknown) => {
    throw new CommandFailure(`Cannot read ${what}: ${error instanceof Error ? error.message : String(error)}`, 2);
  });
  if (!found.isDirectory()) return [what];
  const entries = await readdir(what, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return files
    .filter(
      (file) =>
        !relative(what, file)
          .split(sep)
          .some((part) => part.startsWith(".")),
    )
    .toSorted();
}

async function add(api: ApiClient, path: string, name: string): Promise<Added> {
  try {
    const answer = /^https?:\/\//i.test(name)
      ? await api.post<{ resource_id: string; status: string }>(path, { url: name, on_duplicate: "replace" })
      : await upload(api, path, name);
    return { name, resource_id: answer.resource_id, status: answer.status, error: null };
  } catch (error) {
    // A rejected document does not stop the others.
    if (!(error instanceof ApiRefusal) || ![409, 413, 415, 422].includes(error.status)) throw error;
    return { name, resource_id: null, status: "error", error: { code: String(error.status), message: error.message } };
  }
}

async function upload(api: ApiClient, path: string, name: string): Promise<{ resource_id: string; status: string }> {
  // Its path relative to the current folder, so that a changed file replaces its earlier version.
  const external_id = relative(process.cwd(), name).split(sep).join("/");
  const fields = external_id.length > 0 && external_id.length <= MAX_NAME ? { external_id } : {};
  return await api.upload(path, {}, await openUploadFile(name), fields);
}

/** Waits until each document has been indexed or has failed; records the failures. */
async function untilIndexed(
  api: ApiClient,
  path: string,
  added: readonly Added[],
  onProgress: (done: number) => void,
): Promise<void> {
  for (;;) {
    const open = added.filter(({ status }) => !["indexed", "error", "deleted"].includes(status));
    onProgress(added.length - open.length);
    if (open.length === 0) return;
    await delay(POLL_MS);
    await eachAtOnce(open, LANES, async (each) => {
      try {
        const { status, error } = await api.get<Added>(`${path}/${each.resource_id ?? ""}`);
        Object.assign(each, { status, error });
      } catch (error) {
        if (!(error instanceof ApiRefusal) || error.status !== 404) throw error;
        each.status = "deleted";
      }
    });
  }
}
