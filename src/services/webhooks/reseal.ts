import { SealBroken } from "../../platform/secrets/seal.ts";
import type { SecretBox } from "../../platform/secrets/seal.ts";
import type { Database, Db } from "../../stores/db.ts";
import { lockSecrets, replaceSecrets, SEALED_COLUMNS } from "../../stores/webhooks/secrets.ts";
import type { SealedColumn, SealedSecrets, StoredSecrets } from "../../stores/webhooks/secrets.ts";
import { reseal } from "./subscription-secrets.ts";

/** Subscriptions a transaction: so many are locked at once, and what is recorded of their deliveries waits for it. */
const PAGE = 100;

/** A secret that none of the master keys opens. */
export interface UnreadableSecret {
  readonly subscription_id: string;
  readonly column: SealedColumn;
  readonly reason: string;
}

/** What became of the stored secrets: each secret, previous secret and set of headers is one. */
export interface ResealReport {
  readonly resealed: number;
  /** Those under the present key now, the resealed ones among them. */
  readonly current: number;
  /** They are left as they are. */
  readonly unreadable: readonly UnreadableSecret[];
}

interface ResealedRow extends ResealReport {
  readonly fresh: SealedSecrets;
  /** Whether `fresh` has to be written. */
  readonly changed: boolean;
}

/**
 * Seals the secrets of all subscriptions anew that are under an earlier master key. Previous secrets whose time is over are
 * removed instead. It may be repeated and done beside running processes, as long as all of them have the present key.
 */
export async function resealSecrets(db: Database, box: SecretBox): Promise<ResealReport> {
  let [resealed, current] = [0, 0];
  const unreadable: UnreadableSecret[] = [];
  let beyond: string | null = null;
  for (;;) {
    const page: ResealedRow[] = await db.systemTransaction((connection) => resealPage(connection, box, beyond));
    for (const row of page) {
      resealed += row.resealed;
      current += row.current;
      unreadable.push(...row.unreadable);
    }
    if (page.length < PAGE) return { resealed, current, unreadable };
    beyond = page.at(-1)?.fresh.subscription_id ?? null;
  }
}

async function resealPage(db: Db, box: SecretBox, beyond: string | null): Promise<ResealedRow[]> {
  const page = (await lockSecrets(db, beyond, PAGE)).map((row) => resealRow(box, row));
  const changed = page.filter((row) => row.changed);
  if (changed.length > 0)
    await replaceSecrets(
      db,
      changed.map((row) => row.fresh),
    );
  return page;
}

function resealRow(box: SecretBox, { outlived, ...stored }: StoredSecrets): ResealedRow {
  const fresh = { ...stored };
  let [resealed, current] = [0, 0];
  const unreadable: UnreadableSecret[] = [];
  for (const column of SEALED_COLUMNS) {
    const sealed = stored[column];
    if (sealed === null) continue;
    try {
      fresh[column] = reseal(box, stored.subscription_id, column, sealed);
      current += 1;
      if (fresh[column] !== sealed) resealed += 1;
    } catch (error) {
      if (!(error instanceof SealBroken)) throw error;
      unreadable.push({ subscription_id: stored.subscription_id, column, reason: error.message });
    }
  }
  return { fresh, changed: outlived || resealed > 0, resealed, current, unreadable };
}
