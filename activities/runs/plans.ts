import { parseRedactPaths } from "../../src/domain/flow/redact.ts";
import type { RedactPath } from "../../src/domain/flow/redact.ts";
import type { Plan, PlanNode } from "../../src/domain/flow/plan/types.ts";
import type { Database } from "../../src/stores/db.ts";
import { getPlan } from "../../src/stores/projects/plans.ts";

/** A plan as activities use it. */
export interface LoadedPlan {
  readonly plan: Plan;
  /** What must be masked before anything of a run is stored. */
  readonly redact: readonly RedactPath[];
  /** The node at a path of ids, "map-0/http-0". */
  node(planPath: string): PlanNode;
}

export interface PlanCache {
  get(of: { readonly org_id: string; readonly project_id: string; readonly flow_version: number }): Promise<LoadedPlan>;
}

/** Plans kept in memory; a version never changes. */
const MOST_PLANS = 200;

export function createPlanCache(db: Database): PlanCache {
  const plans = new Map<string, Promise<LoadedPlan>>();

  async function load(orgId: string, projectId: string, version: number): Promise<LoadedPlan> {
    const plan = await db.org(orgId, (connection) => getPlan(connection, projectId, version));
    if (!plan) throw new Error(`flow ${projectId} has no version ${version}`);
    const redact = parseRedactPaths(plan.settings.redact ?? []);
    return {
      plan,
      redact: redact.ok ? redact.paths : [],
      node(planPath) {
        let flow: Plan | undefined = plan;
        let found: PlanNode | undefined;
        for (const id of planPath.split("/")) {
          found = flow?.nodes.find((node) => node.id === id);
          flow = found?.nested;
        }
        if (!found) throw new Error(`version ${version} of flow ${projectId} has no node ${planPath}`);
        return found;
      },
    };
  }

  return {
    get({ org_id, project_id, flow_version }) {
      const key = `${org_id}/${project_id}/${flow_version}`;
      let entry = plans.get(key);
      if (!entry) {
        entry = load(org_id, project_id, flow_version);
        entry.catch(() => plans.delete(key));
        if (plans.size >= MOST_PLANS) plans.delete(plans.keys().next().value ?? "");
        plans.set(key, entry);
      }
      return entry;
    },
  };
}
