import type { Db } from "./db.ts";

/** The tested major versions of PostgreSQL: npm test uses the newest, npm run test:long the oldest. */
const POSTGRES_VERSIONS = { oldest: 15, newest: 18 } as const;

/** Why a server of this version is refused; undefined if it is accepted. `versionNum` is such as 180004. */
export function unsupportedVersion(versionNum: number): string | undefined {
  const { oldest, newest } = POSTGRES_VERSIONS;
  const major = Math.floor(versionNum / 10_000);
  if (major >= oldest && major <= newest) return undefined;
  return `Millrace runs on PostgreSQL ${oldest} to ${newest}, and this server is ${major}.`;
}

/** Why the server is refused for its version; undefined if it is accepted. System only. */
export async function findUnsupported(db: Db): Promise<string | undefined> {
  const versionNum = await db.value<number>("select current_setting('server_version_num')::integer as version_num");
  return unsupportedVersion(versionNum ?? 0);
}

/** What Millrace needs to know of a Postgres server. */
export interface ServerFacts {
  readonly version: string;
  /** Such as 180004. */
  readonly version_num: number;
  readonly encoding: string;
  readonly read_only: boolean;
  readonly max_connections: number;
  readonly connections: number;
  /** The login role. */
  readonly user: string;
  /** How far the server's clock is ahead of this machine's (ms). */
  readonly skew_ms: number;
}

/** Reads a server's version and settings. System only. */
export async function examineServer(db: Db): Promise<ServerFacts> {
  // Connects first, so that connection time does not count as clock skew.
  await db.query("select 1");
  const before = Date.now();
  const row = await db.one<Omit<ServerFacts, "skew_ms"> & { readonly now_ms: number }>(
    `select current_setting('server_version') as version, current_setting('server_version_num')::integer as version_num,
      pg_encoding_to_char((select encoding from pg_database where datname = current_database())) as encoding,
      pg_is_in_recovery() or current_setting('transaction_read_only') = 'on' as read_only,
      current_setting('max_connections')::integer as max_connections,
      (select count(*)::integer from pg_stat_activity where backend_type = 'client backend') as connections,
      session_user::text as "user",
      (1000 * extract(epoch from clock_timestamp()))::float8 as now_ms`,
  );
  const { now_ms, ...facts } = row;
  return { ...facts, skew_ms: Math.round(now_ms - (before + Date.now()) / 2) };
}
