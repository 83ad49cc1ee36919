import type { DataType } from "../../domain/evals/evaluators/kind.ts";
import type { Json, JsonObject } from "../../domain/json.ts";
import type { Db } from "../db.ts";
import { jsonb } from "../jsonb.ts";
import { keysetSql } from "../keyset.ts";
import type { Keyset } from "../keyset.ts";

export const SCORE_SOURCES = ["api", "human", "evaluator"] as const;

/** What an evaluator, a program or a person says of a run. */
export interface ScoreRow {
  readonly score_id: string;
  readonly org_id: string;
  readonly run_id: string;
  readonly node_id: string | null;
  readonly name: string;
  readonly data_type: DataType;
  readonly value: Json;
  /** What it counts in means; null where it counts nothing. */
  readonly number: number | null;
  readonly passed: boolean | null;
  readonly label: string | null;
  readonly comment: string | null;
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly source: (typeof SCORE_SOURCES)[number];
  readonly evaluator_id: string | null;
  readonly evaluator_version: number | null;
  readonly experiment_id: string | null;
  readonly monitor_id: string | null;
  readonly author: string | null;
  readonly metadata: JsonObject;
  readonly usage: JsonObject | null;
  readonly created_at: string;
}

export type NewScore = Omit<ScoreRow, "org_id" | "created_at">;

/**
 * Writes scores of one organisation. A score of an evaluator's version that the run has stays as it is, unless it is an error or
 * `replace` is set: then the new one takes its place, under the old id.
 */
export async function insertScores(db: Db, orgId: string, scores: readonly NewScore[], replace = false): Promise<void> {
  if (scores.length === 0) return;
  await db.query(
    {
      name: "insert_scores",
      text: `insert into scores (org_id, score_id, run_id, node_id, name, data_type, value, number, passed, label, comment, error, source,
          evaluator_id, evaluator_version, experiment_id, monitor_id, author, metadata, usage)
        select $1::uuid, s.score_id, s.run_id, s.node_id, s.name, s.data_type, nullif(s.value, 'null'::jsonb), s.number, s.passed,
          s.label, s.comment, nullif(s.error, 'null'::jsonb), s.source, s.evaluator_id, s.evaluator_version, s.experiment_id,
          s.monitor_id, s.author, s.metadata, nullif(s.usage, 'null'::jsonb)
        from jsonb_to_recordset($2::jsonb) s(score_id uuid, run_id uuid, node_id text, name text, data_type text, value jsonb,
          number float8, passed boolean, label text, comment text, error jsonb, source text, evaluator_id uuid, evaluator_version int,
          experiment_id uuid, monitor_id uuid, author text, metadata jsonb, usage jsonb)
        order by s.run_id, s.evaluator_id
        on conflict (run_id, evaluator_id, evaluator_version) where source = 'evaluator' do update
          set value = excluded.value, number = excluded.number, passed = excluded.passed, label = excluded.label,
            comment = excluded.comment, error = excluded.error, usage = excluded.usage, created_at = now()
          where $3::boolean or scores.error is not null`,
    },
    [orgId, jsonb(scores), replace],
  );
}

const COLUMNS = `score_id, org_id, run_id, node_id, name, data_type, value, number, passed, label, comment, error, source, evaluator_id,
  evaluator_version, experiment_id, monitor_id, author, metadata, usage, created_at`;

/** One score, or null. */
export async function findScore(db: Db, scoreId: string): Promise<ScoreRow | null> {
  const rows = await db.query<ScoreRow & Record<string, unknown>>(
    {
      name: "find_score",
      text: `select ${COLUMNS} from scores where org_id = current_org() and score_id = $1::uuid`,
    },
    [scoreId],
  );
  return rows[0] ?? null;
}

export interface ScoreSearch {
  readonly source: ScoreRow["source"] | null;
  readonly name: string | null;
  readonly node_id: string | null;
}

/** A page of the scores of a run. */
export async function listScores(db: Db, runId: string, search: ScoreSearch, page: Keyset): Promise<ScoreRow[]> {
  const { bound, compare, order, suffix } = keysetSql(page);
  return db.query<ScoreRow & Record<string, unknown>>(
    {
      name: `list_scores_${suffix}`,
      text: `select ${COLUMNS} from scores where org_id = current_org() and run_id = $1::uuid
        and ($2::text is null or source = $2) and ($3::text is null or name = $3) and ($4::text is null or node_id = $4)
        and score_id ${compare} $5::uuid order by score_id ${order} limit $6::int`,
    },
    [runId, search.source, search.name, search.node_id, bound, page.limit],
  );
}

/** Which evaluators' versions have scored these runs without an error, as `run evaluator version`. */
export async function scoredBefore(db: Db, runIds: readonly string[]): Promise<Set<string>> {
  const rows = await db.query<{ key: string }>(
    {
      name: "scored_before",
      text: `select run_id || ' ' || evaluator_id || ' ' || evaluator_version as key from scores
        where org_id = current_org() and run_id = any ($1::uuid[]) and source = 'evaluator' and error is null`,
    },
    [runIds],
  );
  return new Set(rows.map(({ key }) => key));
}
