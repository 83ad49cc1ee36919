import type { JsonObject } from "../../domain/json.ts";
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

export async function findImportedProvider(db: Db, providerId: string): Promise<ImportedProviderRow | null> {
  const rows = await db.query<ImportedProviderRow>(
    { name: "find_imported_provider", text: `select provider_id, provider from imported_providers where ${OWN}` },
    [providerId],
  );
  return rows[0] ?? null;
}

export function listImportedProviders(db: Db): Promise<ImportedProviderRow[]> {
  return db.query({
    name: "list_imported_providers",
    text: "select provider_id, provider from imported_providers where org_id = current_org()",
  });
}

/** Adds a provider or puts another in its place; true where it is new. Nobody else imports it until the transaction ends. */
export async function putImportedProvider(
  db: Db,
  orgId: string,
  { provider_id, provider }: ImportedProviderRow,
  sourceUrl: string | null,
): Promise<boolean> {
  const rows = await db.query<{ created: boolean }>(
    {
      name: "put_imported_provider",
      text: `insert into imported_providers (org_id, provider_id, provider, source_url) values ($1::uuid, $2::text, $3::jsonb, $4::text)
        on conflict (org_id, provider_id) do update set provider = excluded.provider, source_url = excluded.source_url, updated_at = now()
        returning xmax = 0 as created`,
    },
    [orgId, provider_id, jsonb(provider), sourceUrl],
  );
  return rows[0]?.created === true;
}

/** What a new import changed, by the ids of actions. */
export interface ImportChanges {
  readonly added: string[];
  readonly changed: string[];
  readonly removed: string[];
}

/** Puts actions in the place of those that the provider has. */
export async function replaceImportedActions(
  db: Db,
  orgId: string,
  providerId: string,
  /** JSON of ImportedAction[]. */
  actions: string,
): Promise<ImportChanges> {
  const rows = await db.query<{ action_id: string; change: keyof ImportChanges }>(
    {
      name: "replace_imported_actions",
      text: `
with fresh as (
  select action->>'action_id' as action_id, action from jsonb_array_elements($3::jsonb) as action
),
gone as (
  delete from imported_actions where org_id = $1::uuid and provider_id = $2::text and action_id not in (select action_id from fresh)
  returning action_id
),
written as (
  insert into imported_actions (org_id, provider_id, action_id, action) select $1::uuid, $2::text, action_id, action from fresh
  on conflict (org_id, provider_id, action_id) do update set action = excluded.action where imported_actions.action <> excluded.action
  returning action_id, xmax = 0 as added
)
select action_id, case when added then 'added' else 'changed' end as change from written
union all select action_id, 'removed' from gone order by 1`,
    },
    [orgId, providerId, actions],
  );
  const of = (change: keyof ImportChanges): string[] =>
    rows.filter((row) => row.change === change).map(({ action_id }) => action_id);
  return { added: of("added"), changed: of("changed"), removed: of("removed") };
}

export async function findImportedAction(db: Db, providerId: string, actionId: string): Promise<ImportedAction | null> {
  const [action] = await importedActions(db, providerId, [actionId]);
  return action ?? null;
}

/** Those of the actions that there are, in the order of the ids. */
export async function importedActions(
  db: Db,
  providerId: string,
  actionIds: readonly string[],
): Promise<ImportedAction[]> {
  const rows = await db.query<{ action: ImportedAction }>(
    {
      name: "imported_actions",
      text: `select action from imported_actions where ${OWN} and action_id = any ($2::text[])
        order by array_position($2::text[], action_id)`,
    },
    [providerId, actionIds],
  );
  return rows.map(({ action }) => action);
}

/** A page of a provider's actions, by id. */
export async function listImportedActions(db: Db, providerId: string, page: Keyset): Promise<ImportedAction[]> {
  const [compare, order] = page.ascending ? [">", "asc"] : ["<", "desc"];
  const rows = await db.query<{ action: ImportedAction }>(
    {
      name: `list_imported_actions_${order}`,
      text: `select action from imported_actions where ${OWN} and ($2::text is null or action_id collate "C" ${compare} $2::text)
        order by action_id collate "C" ${order} limit $3::int`,
    },
    [providerId, page.beyond, page.limit],
  );
  return rows.map(({ action }) => action);
}

/** What actions are searched by. */
export type ActionTexts = Pick<Action, "action_id" | "name" | "description">;

export function importedActionTexts(db: Db, providerId: string): Promise<ActionTexts[]> {
  return db.query<ActionTexts>(
    {
      name: "imported_action_texts",
      text: `select action_id, action->>'name' as name, action->'description' as description from imported_actions where ${OWN}`,
    },
    [providerId],
  );
}

/** Removes a provider with its actions; false where there is none. */
export async function deleteImportedProvider(db: Db, providerId: string): Promise<boolean> {
  const rows = await db.query(
    { name: "delete_imported_provider", text: `delete from imported_providers where ${OWN} returning provider_id` },
    [providerId],
  );
  return rows.length === 1;
}

/** Locks a provider until the transaction ends; false where there is none. */
export async function lockImportedProvider(db: Db, providerId: string): Promise<boolean> {
  const rows = await db.query(
    { name: "lock_imported_provider", text: `select provider_id from imported_providers where ${OWN} for update` },
    [providerId],
  );
  return rows.length === 1;
}

/** Those of the actions, as provider and action, that there are; they stay until the transaction ends. */
export function holdImportedActions(
  db: Db,
  actions: ReadonlyArray<{ readonly provider_id: string; readonly action_id: string }>,
): Promise<Array<{ provider_id: string; action_id: string }>> {
  return db.query(
    {
      name: "hold_imported_actions",
      text: `select a.provider_id, a.action_id from imported_actions a
        join imported_providers p using (org_id, provider_id)
        join jsonb_to_recordset($1::jsonb) as wanted (provider_id text, action_id text) using (provider_id, action_id)
        where a.org_id = current_org() order by a.provider_id, a.action_id for share of p`,
    },
    [jsonb(actions as unknown as JsonObject[])],
  );
}
