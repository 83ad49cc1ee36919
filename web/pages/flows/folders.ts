/** A name in a list with folders: the folder it is in, and the last part of the name. */
export interface Placed {
  readonly folder: string;
  readonly leaf: string;
}

/** Splits a name at its slashes. Empty parts count as nothing, so that a name always has a last part. */
export function placeOf(name: string): Placed {
  const parts = name.split("/").flatMap((part) => (part.trim() === "" ? [] : [part.trim()]));
  const leaf = parts.pop() ?? name;
  return { folder: parts.join("/"), leaf };
}

/** The folders that lead to a folder, itself last: `a/b` gives `a` and `a/b`. */
export function ancestors(folder: string): string[] {
  const parts = folder === "" ? [] : folder.split("/");
  return parts.map((_, at) => parts.slice(0, at + 1).join("/"));
}

export interface Folder<Item> {
  readonly path: string;
  readonly name: string;
  /** Everything below the folder, at any depth. */
  readonly items: readonly Item[];
}

const ORDER = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });
export const byName = (one: { readonly name: string }, other: { readonly name: string }): number =>
  ORDER.compare(one.name, other.name);

/** The folders and items directly in a folder, each sorted by name. */
export function contentOf<Item extends { readonly name: string }>(
  items: readonly Item[],
  folder: string,
): { readonly folders: ReadonlyArray<Folder<Item>>; readonly items: readonly Item[] } {
  const below = folder === "" ? "" : `${folder}/`;
  const inside = new Map<string, Item[]>();
  const own: Item[] = [];
  for (const item of items) {
    const at = placeOf(item.name).folder;
    if (at === folder) own.push(item);
    else if (at.startsWith(below)) {
      const [name = ""] = at.slice(below.length).split("/");
      const known = inside.get(name);
      if (known) known.push(item);
      else inside.set(name, [item]);
    }
  }
  const folders = [...inside].map(([name, all]) => ({ path: below + name, name, items: all }));
  return { folders: folders.toSorted(byName), items: own.toSorted(byName) };
}
