import type { Plan } from "../../domain/flow/plan/types.ts";
import type { Db } from "../db.ts";

/** The plan of a version, also of a project that has been deleted since, as its runs continue. */
export async function getPlan(db: Db, projectId: string, version: number): Promise<Plan | null> {
  const rows = await db.query<{ plan: Plan }>(
    { name: "get_plan", text: "select plan from flow_versions where project_id = $1::uuid and version = $2::integer" },
    [projectId, version],
  );
  return rows[0]?.plan ?? null;
}
