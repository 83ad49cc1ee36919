import { required } from "../../domain/errors.ts";
import type { Action } from "../../domain/providers/action.ts";
import { BUILTIN_PROVIDERS, findBuiltin } from "../../domain/providers/builtin/index.ts";
import { asAction } from "../../domain/providers/imported.ts";
import type { Provider } from "../../domain/providers/provider.ts";
import type { Db } from "../../stores/db.ts";
import type { Keyset } from "../../stores/keyset.ts";
import {
  findImportedAction,
  findImportedActions,
  findImportedProvider,
  findImportedProviders,
  importedActions,
  holdImportedActions,
  importedActionTexts,
  listImportedActions,
  listImportedProviders,
  type ActionTexts,
  type ImportedProviderRow,
} from "../../stores/providers/imports.ts";

/** Finds a provider that the organisation can use, by its id. The actions of an imported provider are omitted: see findAction. */
export async function findProvider(db: Db, providerId: string): Promise<Provider | null> {
  const builtin = findBuiltin(providerId);
  if (builtin !== undefined) return builtin;
  const row = await findImportedProvider(db, providerId);
  return row && asProvider(row);
}

/** Finds several providers in one query, by their IDs. Unknown providers are left out. */
export async function findProviders(db: Db, providerIds: readonly string[]): Promise<ReadonlyMap<string, Provider>> {
  const wanted = [...new Set(providerIds)];
  const imported = wanted.filter((id) => findBuiltin(id) === undefined);
  const rows = imported.length === 0 ? [] : await findImportedProviders(db, imported);
  const builtin = wanted.flatMap((id) => findBuiltin(id) ?? []);
  return new Map([...builtin, ...rows.map(asProvider)].map((provider) => [provider.provider_id, provider]));
}

/** A provider with one of its actions; the action is null if it does not exist or is not asked for. */
export interface FoundAction {
  readonly provider: Provider;
  readonly action: Action | null;
}

/** Finds several actions in one query, by `<provider>/<action>`, or only the provider by `<provider>`. Unknown providers are left out. */
export async function findActions(db: Db, ids: readonly string[]): Promise<ReadonlyMap<string, FoundAction>> {
  const wanted = [...new Set(ids)].map((id) => {
    const [provider_id = "", ...rest] = id.split("/");
    return { id, provider_id, action_id: rest.join("/") };
  });
  const providerIds = wanted.map(({ provider_id }) => provider_id);
  const providers = await findProviders(db, providerIds);
  const asked = wanted.filter(({ provider_id, action_id }) => {
    const provider = providers.get(provider_id);
    return action_id !== "" && provider !== undefined && provider.source !== "builtin";
  });
  const rows = asked.length === 0 ? [] : await findImportedActions(db, asked);
  const imported = new Map(rows.map((row) => [`${row.provider_id}/${row.action_id}`, asAction(row.action)]));
  return new Map(
    wanted.flatMap(({ id, provider_id, action_id }): Array<[string, FoundAction]> => {
      const provider = providers.get(provider_id);
      if (provider === undefined) return [];
      const builtin = provider.actions.find((each) => each.action_id === action_id);
      return [[id, { provider, action: builtin ?? imported.get(id) ?? null }]];
    }),
  );
}

/** The provider with this ID. Throws 404. */
export async function requireProvider(db: Db, providerId: string): Promise<Provider> {
  return required(await findProvider(db, providerId), "provider");
}

/** All providers that the organisation can use, unordered. */
export async function listProviders(db: Db): Promise<readonly Provider[]> {
  return [...BUILTIN_PROVIDERS, ...(await listImportedProviders(db)).map(asProvider)];
}

export async function findAction(db: Db, provider: Provider, actionId: string): Promise<Action | null> {
  if (provider.source === "builtin") return provider.actions.find(({ action_id }) => action_id === actionId) ?? null;
  const action = await findImportedAction(db, provider.provider_id, actionId);
  return action && asAction(action);
}

/** The provider's action with this ID. Throws 404. */
export async function requireAction(db: Db, provider: Provider, actionId: string): Promise<Action> {
  return required(await findAction(db, provider, actionId), "action");
}

/** The positions of missing actions. Existing imported actions are protected from deletion until the transaction ends. */
export async function missingActionsOf(
  db: Db,
  wanted: ReadonlyArray<{ readonly provider_id: string; readonly action_id: string }>,
): Promise<Set<number>> {
  const imported = wanted.filter(({ provider_id }) => findBuiltin(provider_id) === undefined);
  const held = await holdImportedActions(db, imported);
  const known = new Set(held.map(({ provider_id, action_id }) => `${provider_id}/${action_id}`));
  const isThere = ({ provider_id, action_id }: { provider_id: string; action_id: string }): boolean =>
    findBuiltin(provider_id)?.actions.some((each) => each.action_id === action_id) ??
    known.has(`${provider_id}/${action_id}`);
  return new Set(wanted.flatMap((each, at) => (isThere(each) ? [] : [at])));
}

/** A page of a provider's actions, by id. */
export async function listActions(db: Db, provider: Provider, page: Keyset): Promise<readonly Action[]> {
  if (provider.source === "builtin") return pageOfSorted(provider.actions, (each) => each.action_id, page);
  return (await listImportedActions(db, provider.provider_id, page)).map(asAction);
}

/** A page of a list in memory, by id. */
export function pageOfSorted<Item>(items: readonly Item[], idOf: (item: Item) => string, page: Keyset): Item[] {
  const { beyond, ascending, limit } = page;
  const sorted = items.toSorted((one, other) => (idOf(one) < idOf(other) === ascending ? -1 : 1));
  const isBeyond = (id: string): boolean => beyond === null || (id !== beyond && id > beyond === ascending);
  return sorted.filter((item) => isBeyond(idOf(item))).slice(0, limit);
}

/** The actions that have all words of a query in their id, name or description, best first. */
export async function searchActions(
  db: Db,
  provider: Provider,
  query: string,
  limit: number,
): Promise<{ readonly actions: readonly Action[]; readonly more: boolean }> {
  const isBuiltin = provider.source === "builtin";
  const found = ranked(isBuiltin ? provider.actions : await importedActionTexts(db, provider.provider_id), query);
  const ids = found.slice(0, limit).map(({ action_id }) => action_id);
  const actions = isBuiltin
    ? ids.flatMap((id) => provider.actions.filter(({ action_id }) => action_id === id))
    : (await importedActions(db, provider.provider_id, ids)).map(asAction);
  return { actions, more: found.length > limit };
}

function ranked(actions: readonly ActionTexts[], query: string): ActionTexts[] {
  const words = wordsOf(query);
  const scored = actions.map((action) => {
    const [id, name] = [wordsOf(action.action_id), wordsOf(action.name)];
    const about = wordsOf(`${action.description.human} ${action.description.llm}`);
    const scores = words.map((word) => Math.max(3 * match(id, word), 3 * match(name, word), match(about, word)));
    const score = scores.includes(0) ? 0 : scores.reduce((sum, each) => sum + each, 0);
    return { action, score, length: Math.min(id.length, name.length) };
  });
  return scored
    .filter(({ score }) => score > 0)
    .toSorted(
      (one, other) =>
        other.score - one.score ||
        // Shorter names first, so that "list runs" finds listRuns before listRunsOfMonitor.
        one.length - other.length ||
        (one.action.action_id < other.action.action_id ? -1 : 1),
    )
    .map(({ action }) => action);
}

/** The words of a text; listPullRequests and list_pull_requests have the same words. */
function wordsOf(text: string): string[] {
  return text
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "");
}

/** How well a word matches: a whole word counts more than a shared prefix, and "issues" finds "issue". */
function match(words: readonly string[], word: string): number {
  if (words.includes(word)) return 2;
  return words.some((each) => each.startsWith(word) || (each.length > 3 && word.startsWith(each))) ? 1 : 0;
}

function asProvider({ provider_id, provider }: ImportedProviderRow): Provider {
  return { ...provider, provider_id, actions: [], triggers: [] };
}
