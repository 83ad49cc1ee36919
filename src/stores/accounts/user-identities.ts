import type { Db } from "../db.ts";

/** A person as an identity provider names them. */
export interface Identity {
  readonly issuer: string;
  readonly subject: string;
}

/** The organisation's user of an identity; null if there is none. */
export async function findUserOfIdentity(db: Db, { issuer, subject }: Identity): Promise<string | null> {
  return db.value(
    "select user_id from user_identities where org_id = current_org() and issuer = $1::text and subject = $2::text",
    [issuer, subject],
  );
}

/** Whether a user has any identity of this issuer. */
export async function hasIdentityOf(db: Db, userId: string, issuer: string): Promise<boolean> {
  return db.any(
    "select from user_identities where org_id = current_org() and user_id = $1::uuid and issuer = $2::text limit 1",
    [userId, issuer],
  );
}

/** Gives a user an identity. Violates the primary key if another user has it. */
export async function insertIdentity(db: Db, userId: string, { issuer, subject }: Identity): Promise<void> {
  await db.query(
    `insert into user_identities (org_id, issuer, subject, user_id)
      values (current_org(), $1::text, $2::text, $3::uuid)`,
    [issuer, subject, userId],
  );
}

/** Records that a person has signed in. */
export async function touchIdentity(db: Db, { issuer, subject }: Identity): Promise<void> {
  await db.query(
    `update user_identities set signed_in_at = now()
      where org_id = current_org() and issuer = $1::text and subject = $2::text`,
    [issuer, subject],
  );
}
