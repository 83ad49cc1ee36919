import type { Command } from "@commander-js/extra-typings";
import type { ApiClient, Query } from "./api-client.ts";
import { apiCommand, openApi, show, table } from "./options.ts";
import { readId } from "./values.ts";

type Reader = Pick<ApiClient, "get">;

interface Page<Item> {
  readonly data: readonly Item[];
  readonly cursor: string | null;
}

const MOST = 200;

/** The newest items of a list, filtered if there is a filter; a note says if there are more. */
export async function newest<Item>(
  api: Reader,
  path: string,
  filter: Readonly<Record<string, string | undefined>> = {},
): Promise<readonly Item[]> {
  const query = { ...filter, page_size: MOST };
  const { data, cursor } = await api.get<Page<Item>>(path, query);
  if (cursor !== null) console.error(`Showing the newest ${MOST}. Use the API (GET ${path}) to list all.`);
  return data;
}

/** All items of a list, in its order, read page by page. */
export async function* itemsOf<Item>(api: Reader, path: string, query: Query = {}): AsyncGenerator<Item> {
  for (let cursor: string | undefined; ;) {
    const page: Page<Item> = await api.get(path, { ...query, page_size: MOST, cursor });
    yield* page.data;
    if (page.cursor === null) return;
    cursor = page.cursor;
  }
}

/** All items of a list with this name. */
export async function allNamed<Item>(api: Reader, path: string, name: string): Promise<Item[]> {
  const found: Item[] = [];
  for await (const item of itemsOf<Item & { readonly name: string }>(api, path))
    if (item.name === name) found.push(item);
  return found;
}

/** Columns of a table, in order: heading to cell. */
export type Columns<Item> = Readonly<Record<string, (item: Item) => string>>;

/** Prints items as a JSON document, or as a table. */
export function showTable<Item>(json: boolean | undefined, items: readonly Item[], columns: Columns<Item>): void {
  const cells = Object.values(columns);
  show(json, items, () => table([Object.keys(columns), ...items.map((item) => cells.map((cell) => cell(item)))]));
}

/** Adds `list`: one page of 200 as a table. */
export function addList<Item>(group: Command, what: string, path: string, columns: Columns<Item>): void {
  apiCommand(group, "list", `list ${what}, newest first`).action(async (options) => {
    const { api } = openApi(options);
    showTable(options.json, await newest<Item>(api, path), columns);
  });
}

/** Adds `delete <id>`. `what`: "a trigger". `list` shows the ids. */
export function addDelete(
  group: Command,
  what: string,
  path: string,
  read = readId(what, `${group.name()} list`),
): void {
  apiCommand(group, "delete", `delete ${what}`)
    .argument("<id>", `ID of ${what}`, read)
    .action(async (id, options) => {
      const { api } = openApi(options);
      await api.delete(`${path}/${encodeURIComponent(id)}`);
      show(options.json, { deleted: id }, () => [`deleted ${id}`]);
    });
}
