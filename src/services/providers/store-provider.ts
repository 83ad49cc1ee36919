import { Problem, conflict } from "../../domain/errors.ts";
import { canonicalJson } from "../../domain/flow/definition/content-hash.ts";
import type { Json } from "../../domain/json.ts";
import type { Imported, ImportPreview, ImportOptions } from "../../domain/providers/jobs.ts";
import type { MadeProvider } from "../../platform/evaluation/protocol.ts";
import type { Database } from "../../stores/db.ts";
import {
  compareImportedActions,
  lockImport,
  lockImportedProvider,
  putImportedProvider,
  replaceImportedActions,
  type ImportChanges,
} from "../../stores/providers/imports.ts";
import type { Audit } from "../audit/audit.ts";
import { listActionUsers } from "../projects/flow-references.ts";

const MAX_DIFFERENCES = 50;
/** Most actions that the audit log names for each kind of change. */
const AUDITED_ACTIONS = 20;

interface WantedProvider extends ImportOptions {
  readonly name: string | null;
  readonly made: Extract<MadeProvider, { readonly ok: true }>;
  readonly address: string | null;
  /** The connection that was created for the provider. */
  readonly new_connection_id: string | null;
}

/**
 * Writes a new or replaced provider, and an entry of the audit log. Throws 409 if the ID belongs to another provider,
 * if a published flow uses a removed action, or if a server's tools are new or changed and no authorised person has
 * accepted them.
 */
export async function storeProvider(
  database: Database,
  orgId: string,
  wanted: WantedProvider,
  audit: Audit | null,
): Promise<Imported> {
  const { provider_id, name, made, address } = wanted;
  const provider = { ...made.provider, name: name ?? made.provider.name };
  return await database.orgTransaction(orgId, async (db) => {
    await lockImport(db, provider_id);
    const before = await lockImportedProvider(db, provider_id);
    const differences = await compareImportedActions(db, provider_id, made.actions);
    const of = (change: keyof ImportChanges): string[] =>
      differences.filter((each) => each.change === change).map(({ action_id }) => action_id);
    const changes = { added: of("added"), changed: of("changed"), removed: of("removed") };
    const preview: ImportPreview = {
      ...changes,
      used_by: await listActionUsers(db, provider_id, [...changes.changed, ...changes.removed]),
      differences: differences
        .filter(({ change }) => change === "changed")
        .slice(0, MAX_DIFFERENCES)
        .map(({ action_id, members, description }) => ({ action_id, members, description })),
    };
    const imported = { ...preview, created: before === null, operations: made.operations, stored: !wanted.dry_run };
    if (imported.stored && before !== null) {
      const isSame = differences.length === 0 && isEqual(before.provider, provider);
      const isRenewal = wanted.named || (address !== null && before.source_url === address);
      if (!isRenewal && !isSame) throw anothersPlace(provider_id, before.provider.name);
      if (before.provider.source !== provider.source)
        throw conflict(`${provider_id} was imported from another kind of source. Choose another provider_id.`);
      requireUnused(changes.removed, preview, wanted);
      if (provider.source === "mcp") requireAccepted(changes, preview, wanted);
    }
    if (imported.stored) {
      await putImportedProvider(db, orgId, { provider_id, provider }, address);
      await replaceImportedActions(db, orgId, provider_id, made.actions);
    }
    await audit?.(db, { target: { type: "provider", id: provider_id }, after: audited(wanted, imported) });
    return imported;
  });
}

/** The audit log's view of an import. It contains only the host of a URL, because path and query may contain a secret. */
function audited(
  { made, address, force, accept_changes, trust_annotations, new_connection_id }: WantedProvider,
  { operations, added, changed, removed, stored }: Imported,
): object {
  const ids = Object.entries({ added, changed, removed })
    .filter(([, all]) => all.length > 0)
    .map(([change, all]) => [change, { count: all.length, action_ids: all.slice(0, AUDITED_ACTIONS) }]);
  return {
    source: made.provider.source,
    ...(address !== null && { host: new URL(address).host }),
    operations,
    ...Object.fromEntries(ids),
    ...(stored && new_connection_id !== null && { connection_id: new_connection_id }),
    ...(!stored && { dry_run: true }),
    ...(force && { force }),
    ...(accept_changes && { accept_changes }),
    ...(trust_annotations !== null && { trust_annotations }),
  };
}

function anothersPlace(providerId: string, name: string): Problem {
  const detail =
    `Provider ${providerId} (${name}) already exists, imported from another URL. To update it, ` +
    `send provider_id: "${providerId}"; to create a new provider, send another provider_id.`;
  return new Problem("conflict", detail, { extra: { provider_id: providerId } });
}

function requireUnused(removed: readonly string[], preview: ImportPreview, { force }: ImportOptions): void {
  const used_by = preview.used_by.flatMap((user) => {
    const action_ids = user.action_ids.filter((id) => removed.includes(id));
    return action_ids.length === 0 ? [] : [{ ...user, action_ids }];
  });
  const [first] = used_by;
  if (first === undefined || force) return;
  const detail = `The published flow of project ${first.project_id} (${first.name}) uses ${first.action_ids[0] ?? ""}, which this import removes. Change the flow first, or send force: true.`;
  throw new Problem("in_use", detail, { extra: { ...preview, used_by } });
}

/**
 * A server's description of its tools is an instruction to the models that see it. So a person must accept new and
 * changed tools.
 */
function requireAccepted(
  { added, changed }: ImportChanges,
  preview: ImportPreview,
  { accept_changes }: ImportOptions,
): void {
  if (accept_changes || added.length + changed.length === 0) return;
  const detail = `${changed.length} tools changed and ${added.length} are new since the import. Review \`differences\`; an admin can import them with accept_changes: true.`;
  throw new Problem("tools_changed", detail, { extra: { ...preview } });
}

const isEqual = (one: unknown, other: unknown): boolean =>
  canonicalJson(JSON.parse(JSON.stringify(one)) as Json) === canonicalJson(JSON.parse(JSON.stringify(other)) as Json);
