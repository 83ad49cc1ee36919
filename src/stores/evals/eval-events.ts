import type { JsonObject } from "../../domain/json.ts";
import type { Db } from "../db.ts";
import { jsonb } from "../jsonb.ts";

/** Tells of something that evals have found; telling it again changes nothing. */
export async function insertEvalEvent(
  db: Db,
  event: { readonly event_id: string; readonly type: string; readonly project_id: string; readonly data: JsonObject },
): Promise<void> {
  await db.query(
    {
      name: "insert_eval_event",
      text: `insert into outbox (event_id, org_id, type, project_id, data) values ($1::uuid, current_org(), $2::text, $3::uuid, $4::jsonb)
        on conflict (event_id, org_id) do nothing`,
    },
    [event.event_id, event.type, event.project_id, jsonb(event.data)],
  );
}
