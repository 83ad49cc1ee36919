import type { Db } from "../db.ts";

/** Types of things that belong to one project and have an ID of their own. */
export type ProjectOwned = "run" | "pause" | "trigger";

const QUERIES: Readonly<Record<ProjectOwned, string>> = {
  run: "select project_id from runs where org_id = current_org() and run_id = $1::uuid",
  pause: `select r.project_id from run_pauses p join runs r using (run_id)
    where p.org_id = current_org() and p.pause_id = $1::uuid`,
  trigger: "select project_id from triggers where org_id = current_org() and id = $1::uuid and deleted_at is null",
};

/** The project that something belongs to; null if that does not exist. */
export async function projectOf(db: Db, owned: ProjectOwned, id: string): Promise<string | null> {
  return db.value(QUERIES[owned], [id]);
}
