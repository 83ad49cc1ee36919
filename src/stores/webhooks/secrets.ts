import type { Db } from "../db.ts";
import { keysetSql } from "../keyset.ts";

/** The columns of a subscription that are sealed. */
export const SEALED_COLUMNS = ["secret", "previous_secret", "headers"] as const;
export type SealedColumn = (typeof SEALED_COLUMNS)[number];

/** What a subscription has sealed. */
export interface SealedSecrets {
  readonly subscription_id: string;
  readonly secret: Buffer;
  /** Null once its time is over: nothing is signed with it any more. */
  readonly previous_secret: Buffer | null;
  readonly headers: Buffer | null;
}

/** The same as it is stored. */
export interface StoredSecrets extends SealedSecrets {
  /** Whether the row still has a previous secret whose time is over. */
  readonly outlived: boolean;
}

/**
 * Up to `limit` subscriptions of all organisations, from the one after `beyond` on, disabled ones too; deleted ones keep no
 * secrets. Nobody else changes them until the transaction ends. System only.
 */
export function lockSecrets(db: Db, beyond: string | null, limit: number): Promise<StoredSecrets[]> {
  const { bound, compare, order } = keysetSql({ beyond, ascending: true, limit });
  return db.query<StoredSecrets>(
    {
      name: "lock_webhook_secrets",
      // In the order in which the relay locks them: two that wait for each other would be a circle.
      text: `select subscription_id, secret, case when previous_secret_until > now() then previous_secret end as previous_secret, headers,
          previous_secret is not null and previous_secret_until <= now() as outlived
        from webhook_subscriptions where deleted_at is null and subscription_id ${compare} $1::uuid
        order by subscription_id ${order} limit $2::int for no key update`,
    },
    [bound, limit],
  );
}

/** Writes them back, for a transaction that has locked them. To everybody else nothing has changed: no new revision. System only. */
export async function replaceSecrets(db: Db, all: readonly SealedSecrets[]): Promise<void> {
  await db.query(
    {
      name: "replace_webhook_secrets",
      text: `update webhook_subscriptions s
        set secret = fresh.secret, previous_secret = fresh.previous_secret, headers = fresh.headers
        from unnest($1::uuid[], $2::bytea[], $3::bytea[], $4::bytea[]) as fresh (subscription_id, secret, previous_secret, headers)
        where s.subscription_id = fresh.subscription_id`,
    },
    [
      all.map((each) => each.subscription_id),
      all.map((each) => each.secret),
      all.map((each) => each.previous_secret),
      all.map((each) => each.headers),
    ],
  );
}
