import type { EvaluatorDefinition } from "../../domain/evals/evaluator.ts";
import { columns, type RowOf } from "../columns.ts";
import type { Db } from "../db.ts";
import { jsonb } from "../jsonb.ts";
import { selectPage, type Keyset } from "../keyset.ts";

const ROW = columns(`evaluator_id uuid, org_id uuid, name text, description text, template_id text null, version int,
  secret bytea null, created_at timestamptz, updated_at timestamptz`);

export interface EvaluatorRow extends RowOf<typeof ROW> {
  readonly definition: EvaluatorDefinition;
  /** The sealed secret of a webhook evaluator. */
  readonly secret: Buffer | null;
}

export type NewEvaluator = Omit<EvaluatorRow, "version" | "created_at" | "updated_at">;

/** A version of an evaluator, as experiments and monitors pin it. */
export type PinnedEvaluator = Pick<EvaluatorRow, "evaluator_id" | "version" | "name" | "definition" | "secret">;

const COLUMNS = `${ROW.select("e")}, v.definition`;
const JOINED = "evaluators e join evaluator_versions v using (evaluator_id, version)";

/** Inserts the first version of an evaluator; false if the id exists (the same request, retried). */
export async function insertEvaluator(db: Db, row: NewEvaluator): Promise<boolean> {
  return db.any(
    `with inserted as (
        insert into evaluators (evaluator_id, org_id, name, description, template_id, secret)
        values ($1::uuid, $2::uuid, $3::text, $4::text, $5::text, $6::bytea)
        on conflict (evaluator_id) do nothing returning evaluator_id, org_id)
      insert into evaluator_versions (evaluator_id, version, org_id, definition)
      select evaluator_id, 1, org_id, $7::jsonb from inserted`,
    [row.evaluator_id, row.org_id, row.name, row.description, row.template_id, row.secret, jsonb(row.definition)],
  );
}

/** The current version of an evaluator, or null; `lock` locks it until the transaction ends. */
export async function findEvaluator(db: Db, evaluatorId: string, lock = false): Promise<EvaluatorRow | null> {
  // A separate statement: a statement that waits for the lock does not see a version that another transaction added meanwhile.
  if (lock)
    await db.query(
      "select evaluator_id from evaluators where org_id = current_org() and evaluator_id = $1::uuid for update",
      [evaluatorId],
    );
  return db.first(
    `select ${COLUMNS} from ${JOINED} where e.org_id = current_org() and e.evaluator_id = $1::uuid and e.deleted_at is null`,
    [evaluatorId],
  );
}

export interface EvaluatorSearch {
  readonly type: string | null;
}

/** A page of the organisation's evaluators. */
export async function listEvaluators(db: Db, search: EvaluatorSearch, page: Keyset): Promise<EvaluatorRow[]> {
  const select = `select ${COLUMNS} from ${JOINED} where e.org_id = current_org() and e.deleted_at is null
    and ($1::text is null or v.definition->>'type' = $1)`;
  return selectPage(db, page, "e.evaluator_id", select, [search.type]);
}

/** Adds a version to an evaluator that the caller has locked. */
export async function reviseEvaluator(
  db: Db,
  row: Pick<EvaluatorRow, "evaluator_id" | "name" | "description" | "definition" | "secret">,
): Promise<void> {
  await db.query(
    `with changed as (
        update evaluators set name = $2::text, description = $3::text, secret = $4::bytea, version = version + 1, updated_at = now()
        where org_id = current_org() and evaluator_id = $1::uuid and deleted_at is null returning evaluator_id, version, org_id)
      insert into evaluator_versions (evaluator_id, version, org_id, definition)
      select evaluator_id, version, org_id, $5::jsonb from changed`,
    [row.evaluator_id, row.name, row.description, row.secret, jsonb(row.definition)],
  );
}

/** Deletes an evaluator for all later requests; pinned versions stay. False if there is none. */
export async function markEvaluatorDeleted(db: Db, evaluatorId: string): Promise<boolean> {
  return db.any(
    `update evaluators set deleted_at = now()
      where org_id = current_org() and evaluator_id = $1::uuid and deleted_at is null`,
    [evaluatorId],
  );
}

/** Versions of evaluators, including deleted ones, in the given order. Missing ones are omitted. */
export async function pinnedEvaluators(
  db: Db,
  pins: ReadonlyArray<{ readonly evaluator_id: string; readonly version: number }>,
): Promise<PinnedEvaluator[]> {
  return db.query(
    `select v.evaluator_id, v.version, e.name, v.definition, e.secret
      from unnest($1::uuid[], $2::int[]) with ordinality p(evaluator_id, version, place)
      join evaluator_versions v using (evaluator_id, version) join evaluators e using (evaluator_id)
      where v.org_id = current_org() order by p.place`,
    [pins.map((pin) => pin.evaluator_id), pins.map((pin) => pin.version)],
  );
}
