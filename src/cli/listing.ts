import type { Command } from "commander";
import type { ApiClient } from "./api-client.ts";
import { openApi, show, table, withApiOptions } from "./options.ts";
import type { ApiOptions } from "./options.ts";
import { readId } from "./values.ts";

const MOST = 200;

/** The newest items of a list, filtered if there is a filter; a note says if there are more. */
export async function newest<Item>(
  api: Pick<ApiClient, "get">,
  path: string,
  filter: Readonly<Record<string, string | undefined>> = {},
): Promise<readonly Item[]> {
  const query = { ...filter, page_size: MOST };
  const { data, cursor } = await api.get<{ data: Item[]; cursor: string | null }>(path, query);
  if (cursor !== null) console.error(`These are the newest ${MOST}; GET ${path} has the others.`);
  return data;
}

/** Adds `list`: one page of 200 as a table. `columns`: heading to cell. */
export function addList<Item>(
  group: Command,
  what: string,
  path: string,
  columns: Readonly<Record<string, (item: Item) => string>>,
): void {
  withApiOptions(group.command("list").description(`list ${what}, the newest first`)).action(
    async (options: ApiOptions) => {
      const { api } = openApi(options);
      const data = await newest<Item>(api, path);
      const cells = Object.values(columns);
      show(options.json, data, () =>
        table([Object.keys(columns), ...data.map((item) => cells.map((cell) => cell(item)))]),
      );
    },
  );
}

/** Adds `delete <id>`. `what`: "a trigger". `list` shows the ids. */
export function addDelete(
  group: Command,
  what: string,
  path: string,
  read = readId(what, `${group.name()} list`),
): void {
  withApiOptions(group.command("delete").description(`delete ${what}`).argument("<id>", "which", read)).action(
    async (id: string, options: ApiOptions) => {
      const { api } = openApi(options);
      await api.delete(`${path}/${encodeURIComponent(id)}`);
      show(options.json, { deleted: id }, () => [`deleted ${id}`]);
    },
  );
}
