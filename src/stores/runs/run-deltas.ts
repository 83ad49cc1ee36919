import { columns } from "../columns.ts";
import { isUniqueViolation, type Db } from "../db.ts";
import { TERMINAL } from "../states.ts";

/** The owner of a text: the node, its attempt, and the step of its conversation. */
export interface TextPlace {
  readonly run_id: string;
  readonly path: string;
  readonly attempt: number;
  readonly step: number;
}

/** A piece of a growing text. */
export interface DeltaRow extends TextPlace {
  /** Length of the text before it, in UTF-16 units. */
  readonly from_char: number;
  readonly text: string;
}

/** Most attempts to insert the start of a text while other writers take its number. */
const TRIES = 5;

/**
 * Writes the first piece of a text, and returns the number of its attempt: `place.attempt`, or a higher one if the
 * node wrote a text before, so that (attempt, step) shows which is the latest.
 */
export async function beginText(db: Db, place: TextPlace, text: string): Promise<number> {
  for (let tries = 1; ; tries += 1) {
    try {
      const attempt = await db.value<number>(
        `insert into run_deltas (run_id, org_id, path, attempt, step, from_char, text)
          select $1::uuid, current_org(), $2::text, greatest($3::integer, (
            select case when d.step >= $4::integer then d.attempt + 1 else d.attempt end from run_deltas d
            where d.run_id = $1::uuid and d.path = $2::text order by d.attempt desc, d.step desc limit 1)), $4::integer, 0, $5::text
          returning attempt`,
        [place.run_id, place.path, place.attempt, place.step, text],
      );
      return attempt ?? place.attempt;
    } catch (error) {
      if (tries === TRIES || !isUniqueViolation(error, "run_deltas_place_key")) throw error;
    }
  }
}

const DELTA = columns("run_id uuid, path text, attempt integer, step integer, from_char integer, text text");

/** Writes further pieces, of any runs of one organisation. Existing ones stay. */
export async function appendDeltas(db: Db, rows: readonly DeltaRow[]): Promise<void> {
  await db.query(
    `insert into run_deltas (run_id, org_id, path, attempt, step, from_char, text)
      select run_id, current_org(), path, attempt, step, from_char, text from ${DELTA.unnest(1)} on conflict do nothing`,
    DELTA.arrays(rows),
  );
}

/** The pieces of a run's texts after number `after`, in the order of their numbers. */
export async function listDeltas(
  db: Db,
  runId: string,
  after: number,
  limit: number,
): Promise<Array<Omit<DeltaRow, "run_id"> & { readonly id: number }>> {
  return db.query(
    `select id, path, attempt, step, from_char, text from run_deltas
      where run_id = $1::uuid and id > $2::bigint order by id limit $3::integer`,
    [runId, after, limit],
  );
}

/** Removes the pieces of up to `limit` runs that finished more than `ms` ago or are deleted; returns the number of runs. */
export async function purgeDeltas(db: Db, ms: number, limit: number): Promise<number> {
  return db.number(
    // Steps from one run to the next through the index, because each has many rows.
    `with recursive streamed as (
        (select run_id from run_deltas order by run_id limit 1)
        union all
        select (select d.run_id from run_deltas d where d.run_id > s.run_id order by d.run_id limit 1)
        from streamed s where s.run_id is not null
      ), over as materialized (
        select s.run_id from streamed s left join runs r on r.run_id = s.run_id
        where s.run_id is not null and (r.run_id is null
          or r.state in (${TERMINAL}) and r.finished_at < now() - make_interval(secs => $1::float8 / 1000))
        limit $2::integer
      ), gone as (
        delete from run_deltas using over where run_deltas.run_id = over.run_id
      )
      select count(*)::integer as runs from over`,
    [ms, limit],
  );
}
