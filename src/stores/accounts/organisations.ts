import { columns, type RowOf } from "../columns.ts";
import type { Db } from "../db.ts";

const ROW = columns("org_id uuid, name text, created_at timestamptz");
const SELECT = `select ${ROW.select()} from organisations`;

export type Organisation = RowOf<typeof ROW>;

/** Adds an organisation; an existing one with the same id stays as it is. */
export async function insertOrganisation(db: Db, organisation: { org_id: string; name: string }): Promise<void> {
  await db.query(
    "insert into organisations (org_id, name) values ($1::uuid, $2::text) on conflict (org_id) do nothing",
    [organisation.org_id, organisation.name],
  );
}

/** The oldest organisation with a name. Until the transaction ends, other callers of this function cannot add one. System only. */
export async function findOrganisationNamed(db: Db, name: string): Promise<Organisation | null> {
  // A separate statement, because its snapshot must be taken after the lock to include organisations that others added.
  await db.query("select pg_advisory_xact_lock(hashtextextended('names of organisations', 0))");
  return db.first(`${SELECT} where name = $1::text order by org_id limit 1`, [name]);
}

export async function findOrganisation(db: Db, orgId: string): Promise<Organisation | null> {
  return db.first(`${SELECT} where org_id = $1::uuid`, [orgId]);
}

/** Every organisation, oldest first: for the command line. */
export async function listOrganisations(db: Db): Promise<Organisation[]> {
  return db.query(`${SELECT} order by org_id`);
}
