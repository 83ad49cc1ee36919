import { NotReady } from "../../platform/readiness.ts";
import { findAccessGaps, type AccessGap } from "../../stores/access.ts";
import type { Database } from "../../stores/db.ts";
import { compareMigrations } from "../../stores/migrate.ts";

/** The differences between a database and the migrations. */
export interface SchemaState {
  readonly applied: number;
  readonly missing: readonly string[];
  /** Migrations of a newer release. */
  readonly unknown: readonly string[];
  readonly gaps: readonly AccessGap[];
}

/** Compares the database with the result of the migrations in `directory`: versions, roles, policies and grants. */
export function examineSchema(db: Database, directory: string): Promise<SchemaState> {
  return db.system(async (connection) => ({
    ...(await compareMigrations(connection, directory)),
    gaps: await findAccessGaps(connection),
  }));
}

/** Throws NotReady if the database cannot be used. A schema of a newer release can be used. */
export async function assertSchema(db: Database, directory: string): Promise<void> {
  const { missing, gaps } = await examineSchema(db, directory);
  if (missing.length > 0)
    throw new NotReady(`${missing.length} migrations are missing, from ${missing[0]} on`, "Run `millrace migrate`.");
  const lacking = gaps.filter(({ foreign }) => !foreign);
  if (lacking.length > 0)
    throw new NotReady(
      `${lacking.length} roles, policies or grants are missing, such as ${lacking[0]?.what}`,
      "Run `millrace migrate`.",
    );
}
