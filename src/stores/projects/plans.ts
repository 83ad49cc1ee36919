import type { Plan } from "../../domain/flow/plan/types.ts";
import type { Db } from "../db.ts";
import { PLAN } from "./flow-versions.ts";

/** The plan of a version, also of a deleted project, because its runs continue. */
export async function getPlan(db: Db, projectId: string, version: number): Promise<Plan | null> {
  return db.value<Plan>(
    `select ${PLAN} from flow_versions v where v.project_id = $1::uuid and v.version = $2::integer`,
    [projectId, version],
  );
}
