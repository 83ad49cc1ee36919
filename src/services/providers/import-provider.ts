import { invalid, notFound, Problem } from "../../domain/errors.ts";
import { findBuiltin } from "../../domain/providers/builtin/index.ts";
import { parseDocumentText } from "../../domain/providers/openapi/document.ts";
import { importOpenApi } from "../../domain/providers/openapi/import.ts";
import type { Provider } from "../../domain/providers/provider.ts";
import { FetchFailed, FetchRefused } from "../../platform/fetch/guarded-fetch-errors.ts";
import type { GuardedFetch } from "../../platform/fetch/guarded-fetch.ts";
import type { Database, Db } from "../../stores/db.ts";
import { countConnections } from "../../stores/providers/connections.ts";
import {
  deleteImportedProvider,
  lockImportedProvider,
  putImportedProvider,
  replaceImportedActions,
} from "../../stores/providers/imports.ts";
import type { ImportChanges } from "../../stores/providers/imports.ts";
import { requireProvider } from "./providers.ts";

const LIMITS = { responseBytes: 25 * 1024 * 1024, totalMs: 30_000 };

interface Deps {
  readonly db: Database;
  readonly guardedFetch: Pick<GuardedFetch, "fetch">;
}

export interface ImportRequest {
  readonly org_id: string;
  /** The document, or its address. */
  readonly openapi: unknown;
  /** Default: made of the title. */
  readonly provider_id: string | undefined;
  readonly name: string | undefined;
}

/** What became of an import. */
export interface Imported {
  readonly provider: Provider;
  readonly created: boolean;
  readonly operations: number;
  readonly changes: ImportChanges;
}

/**
 * Makes a provider of an OpenAPI document, or puts the document in the place of the one that the provider was made of. Throws
 * 422 for a document that cannot be imported.
 */
export async function importProvider(deps: Deps, request: ImportRequest): Promise<Imported> {
  const { org_id, openapi } = request;
  const address = typeof openapi === "string" ? openapi : null;
  const document = typeof openapi === "string" ? await fetchDocument(deps.guardedFetch, openapi) : openapi;
  const { provider: made, actions } = importOpenApi(document, address);
  const provider = { ...made, name: request.name ?? made.name };
  const provider_id = request.provider_id ?? idOf(provider.name);
  if (findBuiltin(provider_id) !== undefined)
    throw invalid(["body", "provider_id"], `${provider_id} is built in: choose another id`);
  return await deps.db.orgTransaction(org_id, async (db) => {
    const created = await putImportedProvider(db, org_id, { provider_id, provider }, address);
    const changes = await replaceImportedActions(db, org_id, provider_id, actions);
    return { provider: await requireProvider(db, provider_id), created, operations: actions.length, changes };
  });
}

/** Deletes an imported provider. Throws 404, and 409 for a built-in one and one that is in use. */
export async function deleteProvider(
  database: Database,
  orgId: string,
  providerId: string,
  refuseWhileUsed: (db: Db) => Promise<void>,
): Promise<void> {
  if (findBuiltin(providerId) !== undefined) throw new Problem("conflict", "A built-in provider cannot be deleted.");
  await database.orgTransaction(orgId, async (db) => {
    if (!(await lockImportedProvider(db, providerId))) throw notFound("provider");
    await refuseWhileUsed(db);
    const connections = await countConnections(db, providerId);
    if (connections > 0)
      throw new Problem("in_use", `${connections} connections are of this provider. Delete them first.`);
    await deleteImportedProvider(db, providerId);
  });
}

/** Ids are lower case: "Pet Store" is pet-store. */
function idOf(name: string): string {
  const id = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-+|-+$/g, "")
    .slice(0, 64);
  return id === "" || findBuiltin(id) !== undefined ? `imported-${id || "api"}` : id;
}

async function fetchDocument(guardedFetch: Pick<GuardedFetch, "fetch">, url: string): Promise<unknown> {
  try {
    const { status, body } = await guardedFetch.fetch({
      url,
      headers: { accept: "application/json, */*" },
      limits: LIMITS,
    });
    if (status !== 200) throw invalid(["body", "openapi"], `The address answered ${status}`);
    return parseDocumentText(body.toString("utf8"));
  } catch (error) {
    if (!(error instanceof FetchRefused || error instanceof FetchFailed)) throw error;
    throw invalid(["body", "openapi"], `The document cannot be fetched: ${error.message}`);
  }
}
