import { SealBroken, type SecretBox } from "../../platform/secrets/seal.ts";
import type { Database } from "../../stores/db.ts";
import {
  expireSealed,
  lockSealed,
  replaceSealed,
  SEALED_TABLES,
  type SealedRow,
  type SealedTable,
} from "../../stores/secrets/sealed.ts";

/** Rows per transaction; few, because changes of these rows wait for its end. */
const PAGE = 100;

/** A secret that no master key opens. */
export interface UnreadableSecret {
  readonly table: string;
  readonly id: string;
  readonly column: string;
  readonly reason: string;
}

/** Counts of stored secrets by outcome; each sealed column of a row is one secret. */
export interface ResealReport {
  readonly resealed: number;
  /** Secrets under the current key, including those resealed now. */
  readonly current: number;
  /** Secrets that no master key opens, which are left unchanged. */
  readonly unreadable: readonly UnreadableSecret[];
}

interface ResealedRow extends ResealReport {
  readonly fresh: SealedRow;
}

/**
 * Reseals every secret that is under an earlier master key with the current one, and deletes expired secrets. May be
 * repeated, and run beside other processes as long as all of them have the current key.
 */
export async function resealSecrets(db: Database, box: SecretBox): Promise<ResealReport> {
  const all: ResealReport[] = [];
  for (const table of SEALED_TABLES) {
    await db.systemTransaction((connection) => expireSealed(connection, table));
    let page: ResealedRow[];
    let beyond: string | null = null;
    do {
      page = await resealPage(db, box, table, beyond);
      all.push(...page);
      beyond = page.at(-1)?.fresh.id ?? null;
    } while (page.length === PAGE);
  }
  return {
    resealed: all.reduce((sum, { resealed }) => sum + resealed, 0),
    current: all.reduce((sum, { current }) => sum + current, 0),
    unreadable: all.flatMap(({ unreadable }) => unreadable),
  };
}

/** How many stored secrets no master key opens, among the first `limit` rows of each table. Changes nothing. */
export async function countUnreadable(db: Database, box: SecretBox, limit: number): Promise<number> {
  let unreadable = 0;
  for (const table of SEALED_TABLES) {
    const rows = await db.systemTransaction((connection) => lockSealed(connection, table, null, limit));
    for (const row of rows) unreadable += resealRow(box, table, row).unreadable.length;
  }
  return unreadable;
}

function resealPage(db: Database, box: SecretBox, table: SealedTable, beyond: string | null): Promise<ResealedRow[]> {
  return db.systemTransaction(async (connection) => {
    const page = (await lockSealed(connection, table, beyond, PAGE)).map((row) => resealRow(box, table, row));
    const changed = page.filter(({ resealed }) => resealed > 0).map(({ fresh }) => fresh);
    if (changed.length > 0) await replaceSealed(connection, table, changed);
    return page;
  });
}

function resealRow(box: SecretBox, { table, columns }: SealedTable, { id, sealed }: SealedRow): ResealedRow {
  const fresh = { ...sealed };
  let [resealed, current] = [0, 0];
  const unreadable: UnreadableSecret[] = [];
  for (const [column, context] of Object.entries(columns)) {
    const bytes = sealed[column] ?? null;
    if (bytes === null) continue;
    try {
      // As secretContext, whose type needs the name of a single table.
      const place = `${table}/${id}/${context}`;
      const text = box.open(bytes, place);
      current += 1;
      if (box.isCurrent(bytes)) continue;
      fresh[column] = box.seal(text, place);
      resealed += 1;
    } catch (error) {
      if (!(error instanceof SealBroken)) throw error;
      unreadable.push({ table, id, column, reason: error.message });
    }
  }
  return { fresh: { id, sealed: fresh }, resealed, current, unreadable };
}
