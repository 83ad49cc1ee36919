import { conflict, invalid, notFound, Problem, ValidationProblem } from "../../domain/errors.ts";
import { findBuiltin } from "../../domain/providers/builtin/index.ts";
import type { Imported, ImportOptions } from "../../domain/providers/jobs.ts";
import type { Provider } from "../../domain/providers/provider.ts";
import { FetchFailed, FetchRefused } from "../../platform/fetch/guarded-fetch-errors.ts";
import type { GuardedFetch } from "../../platform/fetch/guarded-fetch.ts";
import type { Database, Db } from "../../stores/db.ts";
import { countConnections } from "../../stores/providers/connections.ts";
import { deleteImportedProvider, lockImportedProvider } from "../../stores/providers/imports.ts";
import { recordDeleted, type Audit, type RowAudit } from "../audit/audit.ts";
import { requireProvider } from "./providers.ts";
import { storeProvider } from "./store-provider.ts";
import type { Parts } from "../parts.ts";

const LIMITS = { responseBytes: 25 * 1024 * 1024, totalMs: 30_000 };

export type ImportDeps = Parts<"db" | "guardedFetch" | "evaluation">;

export interface ImportRequest extends Pick<ImportOptions, "dry_run" | "force"> {
  readonly org_id: string;
  /** The document, or its URL. */
  readonly openapi: unknown;
  /** Default: derived from the title. */
  readonly provider_id: string | undefined;
  readonly name: string | undefined;
  readonly audit: Audit;
}

export type ProviderImported = Imported & { readonly provider_id: string };

/**
 * Creates a provider from an OpenAPI document, or replaces the document of an existing one. Throws 422 for a document
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
  const asked = { provider_id: id, named: provider_id !== undefined, dry_run, force };
  const options = { ...asked, accept_changes: false, trust_annotations: null };
  const wanted = { ...options, name: name ?? null, made, address, new_connection_id: null };
  return { ...(await storeProvider(db, org_id, wanted, audit)), provider_id: id };
}

/** Checks the ID of a provider to import. Throws 422 for the ID of a built-in provider. */
export function requireProviderId(id: string): string {
  if (findBuiltin(id) !== undefined)
    throw invalid(["body", "provider_id"], `${id} is a built-in provider: choose another ID`);
  return id;
}

/** Deletes an imported provider. Throws 404, and 409 for a built-in provider or one in use. */
export async function deleteProvider(
  database: Database,
  orgId: string,
  providerId: string,
  refuseWhileUsed: (db: Db) => Promise<void>,
  audited: RowAudit<Provider>,
): Promise<void> {
  if (findBuiltin(providerId) !== undefined) throw conflict("A built-in provider cannot be deleted.");
  await database.orgTransaction(orgId, async (db) => {
    if ((await lockImportedProvider(db, providerId)) === null) throw notFound("provider");
    await refuseWhileUsed(db);
    const connections = await countConnections(db, providerId);
    if (connections > 0)
      throw new Problem("in_use", `${connections} connections use this provider. Delete them first.`);
    await recordDeleted(db, audited, await requireProvider(db, providerId));
    await deleteImportedProvider(db, providerId);
  });
}

/** The provider ID for a name: "Pet Store" becomes pet-store. */
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
    if (status !== 200) throw invalid(["body", "openapi"], `The server returned status ${status}`);
    return body.toString("utf8");
  } catch (error) {
    if (!(error instanceof FetchRefused || error instanceof FetchFailed)) throw error;
    throw invalid(["body", "openapi"], `Could not fetch the document: ${error.message}`);
  }
}
