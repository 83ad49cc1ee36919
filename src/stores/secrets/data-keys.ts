import type { Db } from "../db.ts";

export type DataKeyPurpose = "payloads" | "blobs";

export interface DataKeyRow {
  readonly key_id: string;
  readonly sealed: Buffer;
}

/** The current key of a purpose; null before there is one. System only. */
export async function currentDataKey(db: Db, purpose: DataKeyPurpose): Promise<DataKeyRow | null> {
  return db.first("select key_id, sealed from data_keys where purpose = $1 and current", [purpose]);
}

/** Makes a key the current one of its purpose, if it has none. System only. */
export async function insertDataKey(db: Db, purpose: DataKeyPurpose, { key_id, sealed }: DataKeyRow): Promise<void> {
  await db.query(
    `insert into data_keys (key_id, purpose, sealed) values ($1::uuid, $2, $3)
      on conflict (purpose) where current do nothing`,
    [key_id, purpose, sealed],
  );
}

/** System only. */
export async function findDataKey(db: Db, purpose: DataKeyPurpose, keyId: string): Promise<DataKeyRow | null> {
  return db.first("select key_id, sealed from data_keys where key_id = $1::uuid and purpose = $2", [keyId, purpose]);
}
