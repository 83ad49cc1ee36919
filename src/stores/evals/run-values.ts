import type { RunSourceFilter } from "../../domain/evals/import.ts";
import type { JsonObject, StoredValue } from "../../domain/json.ts";
import type { Db } from "../db.ts";
import { jsonb } from "../jsonb.ts";

/** The inputs and outputs of a run. */
export interface RunValues {
  readonly run_id: string;
  readonly inputs: Readonly<Record<string, StoredValue>>;
  readonly outputs: Readonly<Record<string, StoredValue>> | null;
  readonly metadata: JsonObject;
}

/** Production runs that match a filter, newest first, before a given run. */
export async function listRunsToImport(
  db: Db,
  filter: RunSourceFilter,
  before: string,
  limit: number,
): Promise<RunValues[]> {
  return db.query(
    `select run_id, inputs, outputs, metadata from runs
      where org_id = current_org() and project_id = $1::uuid and state = $2::text and run_type not in ('batch', 'sub_workflow')
        and ($3::timestamptz is null or created_at > $3) and run_id < $4::uuid
        and ($6::jsonb is null or exists (select from scores s where s.run_id = runs.run_id
          and (not $6 ? 'name' or s.name = $6->>'name')
          and (not $6 ? 'evaluator_id' or s.evaluator_id = ($6->>'evaluator_id')::uuid)
          and (not $6 ? 'min' or s.number >= ($6->>'min')::float8)
          and (not $6 ? 'max' or s.number <= ($6->>'max')::float8)
          and (not $6 ? 'passed' or s.passed = ($6->>'passed')::boolean)))
      order by run_id desc limit $5::int`,
    [
      filter.project_id,
      filter.state,
      filter.created_after ?? null,
      before,
      limit,
      filter.score ? jsonb(filter.score) : null,
    ],
  );
}

/** The metadata of an experiment's run; null for any other run. */
export async function findRunMetadata(db: Db, runId: string): Promise<JsonObject | null> {
  return db.value(
    "select metadata from runs where org_id = current_org() and run_id = $1::uuid and run_type = 'batch'",
    [runId],
  );
}
