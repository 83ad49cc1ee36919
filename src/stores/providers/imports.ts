import type { Action } from "../../domain/providers/action.ts";
import type { ImportedAction, ImportedProvider } from "../../domain/providers/imported.ts";
import { jsonb } from "../jsonb.ts";
import type { Db } from "../db.ts";
import type { Keyset } from "../keyset.ts";

export interface ImportedProviderRow {
  readonly provider_id: string;
  readonly provider: ImportedProvider["provider"];
}

const OWN = "org_id = current_org() and provider_id = $1::text";
/** An action whose schemas keep the order in which their fields were written, unless an older release has replaced it since. */
const ACTION = "case when written_action::jsonb = action then written_action else action::json end as action";

export async function findImportedProvider(db: Db, providerId: string): Promise<ImportedProviderRow | null> {
  return db.first(`select provider_id, provider from imported_providers where ${OWN}`, [providerId]);
}

/** Which of those providers exist, in any order. */
export function findImportedProviders(db: Db, providerIds: readonly string[]): Promise<ImportedProviderRow[]> {
  return db.query(
    `select provider_id, provider from imported_providers
      where org_id = current_org() and provider_id = any ($1::text[])`,
    [providerIds],
  );
}

export function listImportedProviders(db: Db): Promise<ImportedProviderRow[]> {
  return db.query("select provider_id, provider from imported_providers where org_id = current_org()");
}

/** Adds a provider or replaces the existing one. */
export async function putImportedProvider(
  db: Db,
  orgId: string,
  { provider_id, provider }: ImportedProviderRow,
  sourceUrl: string | null,
): Promise<void> {
  await db.query(
    `insert into imported_providers (org_id, provider_id, provider, source_url) values ($1::uuid, $2::text, $3::jsonb, $4::text)
      on conflict (org_id, provider_id) do update set provider = excluded.provider, source_url = excluded.source_url, updated_at = now()`,
    [orgId, provider_id, jsonb(provider), sourceUrl],
  );
}

/** How an action differs from the existing one with the same ID. */
export interface ActionDifference {
  readonly action_id: string;
  readonly change: keyof ImportChanges;
  /** The fields that differ. */
  readonly members: readonly string[];
  /** Its description for models. */
  readonly description: { readonly before: string | null; readonly after: string | null };
}

/** How actions differ from the provider's current ones, by ID. Another order of fields is not a difference. */
export async function compareImportedActions(
  db: Db,
  providerId: string,
  /** JSON of ImportedAction[]. */
  actions: string,
): Promise<ActionDifference[]> {
  return db.query(
    `
with fresh as (
  select action->>'action_id' as action_id, action from jsonb_array_elements($2::jsonb) as action
),
old as (select action_id, action from imported_actions where ${OWN})
select coalesce(fresh.action_id, old.action_id) as action_id,
  case when old.action_id is null then 'added' when fresh.action_id is null then 'removed' else 'changed' end as change,
  case when old.action_id is null or fresh.action_id is null then '{}'::text[] else array(
    select key from (select jsonb_object_keys(fresh.action) union select jsonb_object_keys(old.action)) as keys (key)
    where fresh.action->key is distinct from old.action->key order by key) end as members,
  jsonb_build_object('before', old.action->'description'->>'llm', 'after', fresh.action->'description'->>'llm') as description
from fresh full join old using (action_id)
where fresh.action is distinct from old.action order by 1`,
    [providerId, actions],
  );
}

/** Locks this provider ID until the transaction ends, even if the provider does not exist yet, so that no one else imports it. */
export async function lockImport(db: Db, providerId: string): Promise<void> {
  await db.query("select pg_advisory_xact_lock(hashtextextended('import ' || current_org() || ' ' || $1::text, 0))", [
    providerId,
  ]);
}

/** The differences that a new import makes, keyed by action ID. */
export interface ImportChanges {
  readonly added: string[];
  readonly changed: string[];
  readonly removed: string[];
}

/** Replaces the actions of a provider. */
export async function replaceImportedActions(
  db: Db,
  orgId: string,
  providerId: string,
  /** JSON of ImportedAction[]. */
  actions: string,
): Promise<void> {
  await db.query(
    `
with fresh as (
  select written->>'action_id' as action_id, written, written::jsonb as action from json_array_elements($3::json) as written
),
gone as (
  delete from imported_actions where org_id = $1::uuid and provider_id = $2::text and action_id not in (select action_id from fresh)
  returning action_id
)
insert into imported_actions (org_id, provider_id, action_id, action, written_action)
select $1::uuid, $2::text, action_id, action, written from fresh
on conflict (org_id, provider_id, action_id) do update set action = excluded.action, written_action = excluded.written_action
where imported_actions.written_action::text is distinct from excluded.written_action::text
  or imported_actions.action <> excluded.action`,
    [orgId, providerId, actions],
  );
}

export async function findImportedAction(db: Db, providerId: string, actionId: string): Promise<ImportedAction | null> {
  const [action] = await importedActions(db, providerId, [actionId]);
  return action ?? null;
}

/** Which of those actions exist, in the order of the IDs. */
export async function importedActions(
  db: Db,
  providerId: string,
  actionIds: readonly string[],
): Promise<ImportedAction[]> {
  return db.column(
    `select ${ACTION} from imported_actions where ${OWN} and action_id = any ($2::text[])
      order by array_position($2::text[], action_id)`,
    [providerId, actionIds],
  );
}

interface ActionName {
  readonly provider_id: string;
  readonly action_id: string;
}

/** Which of those actions of any providers exist, in any order. */
export function findImportedActions(
  db: Db,
  actions: readonly ActionName[],
): Promise<Array<ActionName & { readonly action: ImportedAction }>> {
  return db.query(
    `select provider_id, action_id, ${ACTION} from imported_actions
      join jsonb_to_recordset($1::jsonb) as wanted (provider_id text, action_id text) using (provider_id, action_id)
      where org_id = current_org()`,
    [jsonb(actions)],
  );
}

/** A page of a provider's actions, by id. */
export async function listImportedActions(db: Db, providerId: string, page: Keyset): Promise<ImportedAction[]> {
  const [compare, order] = page.ascending ? [">", "asc"] : ["<", "desc"];
  return db.column(
    `select ${ACTION} from imported_actions where ${OWN} and ($2::text is null or action_id collate "C" ${compare} $2::text)
      order by action_id collate "C" ${order} limit $3::int`,
    [providerId, page.beyond, page.limit],
  );
}

/** The texts that action searches look in. */
export type ActionTexts = Pick<Action, "action_id" | "name" | "description">;

export function importedActionTexts(db: Db, providerId: string): Promise<ActionTexts[]> {
  return db.query(
    `select action_id, action->>'name' as name, action->'description' as description from imported_actions where ${OWN}`,
    [providerId],
  );
}

/** Deletes a provider with its actions; false if it does not exist. */
export async function deleteImportedProvider(db: Db, providerId: string): Promise<boolean> {
  return db.any(`delete from imported_providers where ${OWN}`, [providerId]);
}

/** Locks a provider until the transaction ends; null if there is none. Deployments of flows that start to use it wait. */
export async function lockImportedProvider(
  db: Db,
  providerId: string,
): Promise<(ImportedProviderRow & { readonly source_url: string | null }) | null> {
  return db.first(`select provider_id, provider, source_url from imported_providers where ${OWN} for update`, [
    providerId,
  ]);
}

/** Those actions that exist, as provider and action, locked until the transaction ends. */
export function holdImportedActions(db: Db, actions: readonly ActionName[]): Promise<ActionName[]> {
  return db.query(
    `select a.provider_id, a.action_id from imported_actions a
      join imported_providers p using (org_id, provider_id)
      join jsonb_to_recordset($1::jsonb) as wanted (provider_id text, action_id text) using (provider_id, action_id)
      where a.org_id = current_org() order by a.provider_id, a.action_id for share of p`,
    [jsonb(actions)],
  );
}
