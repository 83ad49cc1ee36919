import type { Keyset } from "./keyset.ts";

/** Rows read first, and most rows read together, because long rows may follow short ones. */
const FIRST = 20;
const MOST = 60;
/** Approximate characters of JSON read together. */
const CHARS = 4 * 1024 * 1024;

/** Some rows of a list, with the length of their JSON. */
export interface Portion<Row> {
  readonly rows: readonly Row[];
  readonly chars: number;
}

/**
 * Reads a list whose rows may be long: few rows first, then as many as make about CHARS characters at the length of the rows before.
 * Hundreds of long rows together would exhaust the memory of a process.
 */
export async function* inPortions<Row>(
  fetch: (page: Keyset) => Promise<Row[]>,
  idOf: (row: Row) => string,
  { beyond, ascending }: Pick<Keyset, "beyond" | "ascending">,
): AsyncGenerator<Portion<Row>> {
  let after = beyond;
  for (let limit = FIRST; ;) {
    const rows = await fetch({ beyond: after, ascending, limit });
    const chars = JSON.stringify(rows).length;
    yield { rows, chars };
    const last = rows.at(-1);
    if (last === undefined || rows.length < limit) return;
    after = idOf(last);
    limit = Math.max(1, Math.min(MOST, Math.floor((CHARS * rows.length) / chars)));
  }
}
