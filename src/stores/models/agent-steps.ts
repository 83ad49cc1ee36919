import type { StoredValue } from "../../domain/json.ts";
import type { Db } from "../db.ts";
import { jsonb } from "../jsonb.ts";

/**
 * A model's answer at a step of a node that calls tools, or the output of a tool call; null if none is stored. With `asked`, only an answer
 * to that question: one digest in common is enough.
 */
export async function findStepAnswer(
  db: Db,
  runId: string,
  path: string,
  asked: string | null = null,
): Promise<StoredValue | null> {
  return db.value(
    `select answer from agent_steps where run_id = $1::uuid and path = $2::text
      and ($3::text is null or string_to_array(asked, '.') && string_to_array($3, '.'))`,
    [runId, path, asked],
  );
}

export interface KeptAnswer {
  readonly org_id: string;
  readonly run_id: string;
  readonly path: string;
  readonly answer: StoredValue;
  /** Digests of the node's question, separated by dots. */
  readonly asked: string | null;
}

/** Stores a model's answer at a step, replacing an answer that could not be used. */
export async function keepStepAnswer(db: Db, { org_id, run_id, path, answer, asked }: KeptAnswer): Promise<void> {
  await db.query(
    `insert into agent_steps (run_id, path, org_id, answer, asked) values ($1::uuid, $2::text, $3::uuid, $4::jsonb, $5::text)
      on conflict (run_id, path) do update set answer = excluded.answer, asked = excluded.asked`,
    [run_id, path, org_id, jsonb(answer), asked],
  );
}
