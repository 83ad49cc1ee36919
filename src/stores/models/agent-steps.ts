import type { StoredValue } from "../../domain/json.ts";
import type { Db } from "../db.ts";
import { jsonb } from "../jsonb.ts";

/** What a model answered at a step of a node that calls tools; null where it has not, as far as anybody knows. */
export async function findStepAnswer(db: Db, runId: string, path: string): Promise<StoredValue | null> {
  const rows = await db.query<{ answer: StoredValue }>(
    {
      name: "find_step_answer",
      text: "select answer from agent_steps where run_id = $1::uuid and path = $2::text",
    },
    [runId, path],
  );
  return rows[0]?.answer ?? null;
}

/** Keeps what a model answered at a step, in the place of an answer that could not be used. */
export async function keepStepAnswer(
  db: Db,
  { org_id, run_id, path, answer }: { org_id: string; run_id: string; path: string; answer: StoredValue },
): Promise<void> {
  await db.query(
    {
      name: "keep_step_answer",
      text: `insert into agent_steps (run_id, path, org_id, answer) values ($1::uuid, $2::text, $3::uuid, $4::jsonb)
        on conflict (run_id, path) do update set answer = excluded.answer`,
    },
    [run_id, path, org_id, jsonb(answer)],
  );
}
