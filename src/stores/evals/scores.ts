import type { DataType } from "../../domain/evals/evaluators/kind.ts";
import type { JsonObject } from "../../domain/json.ts";
import { columns, type NameOf, type RowOf } from "../columns.ts";
import { plannedAnew, type Db } from "../db.ts";
import { jsonb } from "../jsonb.ts";
import { keysetSql, type Keyset } from "../keyset.ts";

export const SCORE_SOURCES = ["api", "human", "evaluator"] as const;

const ROW = columns(`score_id uuid, org_id uuid, run_id uuid, node_id text null, name text, data_type text, value jsonb,
  number float8 null, passed boolean null, label text null, comment text null, error jsonb null, source text,
  evaluator_id uuid null, evaluator_version int null, experiment_id uuid null, monitor_id uuid null, author text null,
  metadata jsonb, usage jsonb null, corrected jsonb null, revision int, created_at timestamptz`);

/** A score of a run by an evaluator, a program or a person. */
export interface ScoreRow extends RowOf<typeof ROW> {
  readonly data_type: DataType;
  readonly value: number | boolean | string | null;
  /** The score's number in means; null if it has none. */
  readonly number: number | null;
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly source: (typeof SCORE_SOURCES)[number];
  readonly metadata: JsonObject;
  readonly usage: JsonObject | null;
  /** The original score, and who corrected it. */
  readonly corrected: Correction | null;
}

/** A score before its first correction, and who corrected it last and when. */
export interface Correction extends Pick<ScoreRow, "value" | "passed" | "comment" | "error"> {
  readonly by: string;
  readonly at: string;
}

export type NewScore = Omit<ScoreRow, "org_id" | "created_at" | "corrected" | "revision">;

const NEW = columns(`score_id uuid, run_id uuid, node_id text, name text, data_type text, value jsonb, number float8,
  passed boolean, label text, comment text, error jsonb, source text, evaluator_id uuid, evaluator_version int,
  experiment_id uuid, monitor_id uuid, author text, metadata jsonb, usage jsonb`);
/** Columns with SQL's null in place of JSON's. */
const NULLABLE: ReadonlySet<string> = new Set(["value", "error", "usage"]);

/**
 * Writes scores of one organisation. An existing score by the same version of an evaluator stays, unless it is an error or `replace` is
 * set: then the new score replaces it and keeps its ID. A corrected score always stays.
 */
export async function insertScores(db: Db, orgId: string, scores: readonly NewScore[], replace = false): Promise<void> {
  if (scores.length === 0) return;
  await db.query(
    `insert into scores (org_id, ${NEW.select()})
      select $1::uuid, ${NEW.names.map((name) => (NULLABLE.has(name) ? `nullif(s.${name}, 'null')` : `s.${name}`)).join(", ")}
      from jsonb_to_recordset($2::jsonb) s(${NEW.recordset})
      order by s.run_id, s.evaluator_id
      on conflict (run_id, evaluator_id, evaluator_version) where source = 'evaluator' do update
        set value = excluded.value, number = excluded.number, passed = excluded.passed, label = excluded.label,
          comment = excluded.comment, error = excluded.error, usage = excluded.usage, created_at = now()
        where ($3::boolean or scores.error is not null) and scores.corrected is null`,
    [orgId, jsonb(scores), replace],
  );
}

const COLUMNS = ROW.select();

/** One score, or null; `lock` locks it until the transaction ends. */
export async function findScore(db: Db, scoreId: string, lock = false): Promise<ScoreRow | null> {
  return db.first(
    `select ${COLUMNS} from scores where org_id = current_org() and score_id = $1::uuid ${lock ? "for update" : ""}`,
    [scoreId],
  );
}

const CORRECTED = columns(`value jsonb, number float8, passed boolean, label text, comment text, error jsonb,
  metadata jsonb, corrected jsonb`);

/** Changes a score that the caller has locked, and the copies of it that monitors keep. */
export async function correctScore(
  db: Db,
  score: Pick<ScoreRow, "score_id" | NameOf<typeof CORRECTED>>,
): Promise<void> {
  await db.query(
    `with changed as (
        update scores set ${CORRECTED.set(2)}, revision = revision + 1
        where org_id = current_org() and score_id = $1::uuid
        returning run_id, evaluator_id, evaluator_version, number, passed, error)
      update eval_monitor_scores m set number = c.number, passed = c.passed, failed = c.error is not null from changed c
      where m.run_id = c.run_id and m.evaluator_id = c.evaluator_id and m.evaluator_version = c.evaluator_version`,
    [score.score_id, ...CORRECTED.values(score)],
  );
}

export async function deleteScore(db: Db, scoreId: string): Promise<void> {
  await db.query("delete from scores where org_id = current_org() and score_id = $1::uuid", [scoreId]);
}

/** The labels of these scores; a deleted one has none. */
export async function labelsOfScores(
  db: Db,
  scoreIds: readonly string[],
): Promise<Array<{ score_id: string; label: string | null }>> {
  return db.query("select score_id, label from scores where org_id = current_org() and score_id = any ($1::uuid[])", [
    scoreIds,
  ]);
}

/** Which scores to list; null fields restrict nothing. */
export interface ScoreSearch {
  readonly run_id: string | null;
  readonly project_id: string | null;
  readonly node_id: string | null;
  readonly name: string | null;
  readonly source: ScoreRow["source"] | null;
  readonly evaluator_id: string | null;
  readonly experiment_id: string | null;
  readonly monitor_id: string | null;
  readonly passed: boolean | null;
  readonly corrected: boolean | null;
  readonly created_after: string | null;
  readonly created_before: string | null;
}

/** Conditions by the columns that they use, each with its next parameter number. */
const CONDITIONS: { readonly [Name in keyof ScoreSearch]: (parameter: string) => string } = {
  run_id: (at) => `run_id = ${at}::uuid`,
  project_id: (at) => `exists (select from runs r where r.run_id = scores.run_id and r.project_id = ${at}::uuid)`,
  node_id: (at) => `node_id = ${at}::text`,
  name: (at) => `name = ${at}::text`,
  source: (at) => `source = ${at}::text`,
  evaluator_id: (at) => `evaluator_id = ${at}::uuid`,
  experiment_id: (at) => `experiment_id = ${at}::uuid`,
  monitor_id: (at) => `monitor_id = ${at}::uuid`,
  passed: (at) => `passed = ${at}::boolean`,
  corrected: (at) => `(corrected is not null) = ${at}::boolean`,
  created_after: (at) => `created_at > ${at}::timestamptz`,
  created_before: (at) => `created_at < ${at}::timestamptz`,
};

/** A page of scores, of one run or of all. */
export async function listScores(db: Db, search: Partial<ScoreSearch>, page: Keyset): Promise<ScoreRow[]> {
  const { bound, compare, order } = keysetSql(page);
  const asked = (Object.keys(CONDITIONS) as Array<keyof ScoreSearch>).filter((name) => (search[name] ?? null) !== null);
  const conditions = asked.map((name, i) => ` and ${CONDITIONS[name](`$${i + 3}`)}`).join("");
  // Planned for each call, because these conditions determine the index.
  return db.query(
    plannedAnew(`select ${COLUMNS} from scores where org_id = current_org()${conditions}
        and score_id ${compare} $1::uuid order by score_id ${order} limit $2::int`),
    [bound, page.limit, ...asked.map((name) => search[name])],
  );
}

/** The versions of evaluators that have scored these runs without an error, as `run evaluator version`. */
export async function scoredBefore(db: Db, runIds: readonly string[]): Promise<Set<string>> {
  const keys = await db.column<string>(
    `select run_id || ' ' || evaluator_id || ' ' || evaluator_version as key from scores
      where org_id = current_org() and run_id = any ($1::uuid[]) and source = 'evaluator' and error is null`,
    [runIds],
  );
  return new Set(keys);
}
