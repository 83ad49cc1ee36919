import type { Db } from "./db.ts";

/**
 * A query of rows whose schedule in Temporal is out of date, round robin by organisation and otherwise in any order, so that a schedule that
 * cannot be applied blocks no other.
 */
export function selectUnapplied(table: string, key: string, where: string): string {
  return `select org_id, ${key} as id from ${table} where ${where}
    order by row_number() over (partition by org_id order by random()), random() limit $1::int`;
}

/** What the rows of a table record about their schedules in Temporal. A schedule has the revision of its row. */
export function scheduleRevisions(table: string, key: string, isScheduled = "true") {
  const one = `org_id = current_org() and ${key} = $1::uuid and revision = $2::int`;
  const unapplied = selectUnapplied(table, key, `${isScheduled} and applied_revision < revision`);
  return {
    /** Records that Temporal has the schedule of a revision; false if the row has been changed since. */
    applied: (db: Db, id: string, revision: string): Promise<boolean> =>
      db.any(`update ${table} set applied_revision = revision where ${one}`, [id, Number(revision)]),
    /** Records why Temporal refuses the schedule of a revision, which is not retried. */
    async refused(db: Db, id: string, revision: string, message: string): Promise<void> {
      await db.query(
        `update ${table} set applied_revision = revision, refused_revision = revision, last_error = $3::text, last_error_at = now()
          where ${one}`,
        [id, Number(revision), message.slice(0, 1000)],
      );
    },
    /** Rows whose schedule is out of date. System only. */
    unapplied: (db: Db, limit: number): Promise<Array<{ readonly org_id: string; readonly id: string }>> =>
      db.query(unapplied, [limit]),
  };
}
