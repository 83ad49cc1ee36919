import { Problem } from "../../domain/errors.ts";
import { canonicalJson } from "../../domain/flow/definition/content-hash.ts";
import type { Json } from "../../domain/json.ts";
import type { Imported, ImportPreview, ImportOptions } from "../../domain/providers/jobs.ts";
import type { MadeProvider } from "../../platform/evaluation/protocol.ts";
import type { Database, Db } from "../../stores/db.ts";
import {
  compareImportedActions,
  lockImport,
  lockImportedProvider,
  putImportedProvider,
  replaceImportedActions,
} from "../../stores/providers/imports.ts";
import type { ImportChanges } from "../../stores/providers/imports.ts";
import { listActionUsers } from "../projects/flow-references.ts";

const MAX_DIFFERENCES = 50;

/**
 * Writes a provider that was made, in the place of the one that there may be. `record` is called in its
 * transaction. Throws 409 where that would be another one's place, where a
 * published flow uses an action that goes, and where tools of a server change or are new and nobody who may has said yes.
 */
export async function storeProvider(
  database: Database,
  orgId: string,
  wanted: ImportOptions & {
    readonly name: string | null;
    readonly made: Extract<MadeProvider, { readonly ok: true }>;
    readonly address: string | null;
  },
  record: (db: Db, imported: Imported) => Promise<void> = async () => undefined,
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
    if (wanted.dry_run) {
      await record(db, imported);
      return imported;
    }
    if (before !== null) {
      const isSame = differences.length === 0 && isEqual(before.provider, provider);
      const isRenewal = wanted.named || (address !== null && before.source_url === address);
      if (!isRenewal && !isSame) throw anothersPlace(provider_id, before.provider.name);
      if (before.provider.source !== provider.source)
        throw new Problem("conflict", `${provider_id} was made of another kind of source. Choose another provider_id.`);
      requireUnused(changes.removed, preview, wanted);
      if (provider.source === "mcp") requireAccepted(changes, preview, wanted);
    }
    await putImportedProvider(db, orgId, { provider_id, provider }, address);
    await replaceImportedActions(db, orgId, provider_id, made.actions);
    await record(db, imported);
    return imported;
  });
}

function anothersPlace(providerId: string, name: string): Problem {
  const detail =
    `There is a provider ${providerId} (${name}) already, which was not imported from the same address. To renew it, ` +
    `send provider_id: "${providerId}"; for a provider of its own, send another provider_id.`;
  return new Problem("conflict", detail, { extra: { provider_id: providerId } });
}

function requireUnused(removed: readonly string[], preview: ImportPreview, { force }: ImportOptions): void {
  const used_by = preview.used_by.flatMap((user) => {
    const action_ids = user.action_ids.filter((id) => removed.includes(id));
    return action_ids.length === 0 ? [] : [{ ...user, action_ids }];
  });
  const [first] = used_by;
  if (first === undefined || force) return;
  const detail = `The published flow of project ${first.project_id} (${first.name}) uses ${first.action_ids[0] ?? ""}, which this import removes. Change that first, or send force: true.`;
  throw new Problem("in_use", detail, { extra: { ...preview, used_by } });
}

/** What a server says of its tools is an instruction to the models that are shown it: changed, it needs a person's word again. */
function requireAccepted(
  { added, changed }: ImportChanges,
  preview: ImportPreview,
  { accept_changes }: ImportOptions,
): void {
  if (accept_changes || added.length + changed.length === 0) return;
  const detail = `The server has ${changed.length} tools that are not as they were imported, and ${added.length} new ones. Look at the differences; an admin imports them with accept_changes: true.`;
  throw new Problem("tools_changed", detail, { extra: { ...preview } });
}

const isEqual = (one: unknown, other: unknown): boolean =>
  canonicalJson(JSON.parse(JSON.stringify(one)) as Json) === canonicalJson(JSON.parse(JSON.stringify(other)) as Json);
