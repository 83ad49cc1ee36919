import type { Db } from "../db.ts";

/** A server that takes longer than this to respond is not used for reads (ms). */
const PATIENCE_MS = 1000;

const numberOf = (position: string): bigint => {
  const [high = "", low = ""] = position.split("/");
  return (BigInt(`0x${high}`) << 32n) + BigInt(`0x${low}`);
};

/** The position up to which a primary has written its log; everything committed is before it. System only. */
export async function writtenPosition(db: Db): Promise<bigint> {
  const position = await db.value<string>({
    text: "select pg_current_wal_lsn()::text as position",
    query_timeout: PATIENCE_MS,
  });
  return numberOf(position ?? "0/0");
}

/** The position up to which a standby has replayed its primary's log; null if the server is not a standby. System only. */
export async function replayedPosition(db: Db): Promise<bigint | null> {
  const position = await db.value<string>({
    text: "select case when pg_is_in_recovery() then pg_last_wal_replay_lsn()::text end as position",
    query_timeout: PATIENCE_MS,
  });
  return position === null ? null : numberOf(position);
}
