import { invalid, notFound, Problem, ValidationProblem } from "../../domain/errors.ts";
import { findBuiltin } from "../../domain/providers/builtin/index.ts";
import type { Imported } from "../../domain/providers/jobs.ts";
import type { Provider } from "../../domain/providers/provider.ts";
import type { Evaluation } from "../../platform/evaluation/evaluation.ts";
import { FetchFailed, FetchRefused } from "../../platform/fetch/guarded-fetch-errors.ts";
import type { GuardedFetch } from "../../platform/fetch/guarded-fetch.ts";
import type { Database, Db } from "../../stores/db.ts";
import { countConnections } from "../../stores/providers/connections.ts";
import { deleteImportedProvider, lockImportedProvider } from "../../stores/providers/imports.ts";
import { recordDeleted } from "../audit/audit.ts";
import type { Audit, RowAudit } from "../audit/audit.ts";
import { requireProvider } from "./providers.ts";
import { storeProvider } from "./store-provider.ts";

const LIMITS = { responseBytes: 25 * 1024 * 1024, totalMs: 30_000 };

export interface ImportDeps {
  readonly db: Database;
  readonly guardedFetch: Pick<GuardedFetch, "fetch">;
  readonly evaluation: Pick<Evaluation, "provider">;
}

export interface ImportRequest {
  readonly org_id: string;
  /** The document, or its address. */
  readonly openapi: unknown;
  /** Default: derived from the title. */
  readonly provider_id: string | undefined;
  readonly name: string | undefined;
  readonly dry_run: boolean;
  readonly force: boolean;
  readonly audit: Audit;
}

export type ProviderImported = Imported & { readonly provider_id: string };

/**
 * Makes a provider from an OpenAPI document, or replaces the document of an existing one. Throws 422 for a document
 * that cannot be imported, and 409 as storeProvider does.
 */
export async function importDocument(
  { db, guardedFetch, evaluation }: ImportDeps,
  { org_id, openapi, name, provider_id, dry_run, force, audit }: ImportRequest,
): Promise<ProviderImported> {
  const address = typeof openapi === "string" ? openapi : null;
  const document = typeof openapi === "string" ? await fetchDocument(guardedFetch, openapi) : openapi;
  const made = await evaluation.provider(org_id, { openapi: document, address });
  if (!made.ok) throw new ValidationProblem(made.issues);
  const id = requireProviderId(provider_id ?? providerIdOf(name ?? made.provider.name));
  const options = { provider_id: id, named: provider_id !== undefined, dry_run, force };
  const documentOptions = { ...options, accept_changes: false, trust_annotations: null };
  const wanted = { ...documentOptions, name: name ?? null, made, address, new_connection_id: null };
  return { ...(await storeProvider(db, org_id, wanted, audit)), provider_id: id };
}

/** Throws 422 for the id of a built-in provider. */
export function requireProviderId(id: string): string {
  if (findBuiltin(id) !== undefined) throw invalid(["body", "provider_id"], `${id} is built in: choose another id`);
  return id;
}

/** Deletes an imported provider. Throws 404, and 409 for a built-in one and one that is in use. */
export async function deleteProvider(
  database: Database,
  orgId: string,
  providerId: string,
  refuseWhileUsed: (db: Db) => Promise<void>,
  audited: RowAudit<Provider>,
): Promise<void> {
  if (findBuiltin(providerId) !== undefined) throw new Problem("conflict", "A built-in provider cannot be deleted.");
  await database.orgTransaction(orgId, async (db) => {
    if ((await lockImportedProvider(db, providerId)) === null) throw notFound("provider");
    await refuseWhileUsed(db);
    const connections = await countConnections(db, providerId);
    if (connections > 0)
      throw new Problem("in_use", `${connections} connections are of this provider. Delete them first.`);
    await recordDeleted(db, audited, await requireProvider(db, providerId));
    await deleteImportedProvider(db, providerId);
  });
}

/** Ids are lower case: "Pet Store" is pet-store. */
export function providerIdOf(name: string): string {
  const id = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-|-$/g, "")
    .slice(0, 64);
  return id === "" || findBuiltin(id) !== undefined ? `imported-${id || "api"}` : id;
}

async function fetchDocument(guardedFetch: Pick<GuardedFetch, "fetch">, url: string): Promise<string> {
  try {
    const { status, body } = await guardedFetch.fetch({
      url,
      headers: { accept: "application/json, */*" },
      limits: LIMITS,
    });
    if (status !== 200) throw invalid(["body", "openapi"], `The address answered ${status}`);
    return body.toString("utf8");
  } catch (error) {
    if (!(error instanceof FetchRefused || error instanceof FetchFailed)) throw error;
    throw invalid(["body", "openapi"], `The document cannot be fetched: ${error.message}`);
  }
}
