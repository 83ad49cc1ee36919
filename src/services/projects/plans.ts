import type { Plan, PlanNode } from "../../domain/flow/plan/types.ts";
import { parseRedactPaths } from "../../domain/flow/redact.ts";
import type { RedactPath } from "../../domain/flow/redact.ts";
import type { Database } from "../../stores/db.ts";
import { getPlan } from "../../stores/projects/plans.ts";

/** Plans kept in memory, as the length of their JSON text. */
const MAX_PLAN_CHARS = 32 * 1024 * 1024;

/** A plan as executors use it. */
export interface LoadedPlan {
  readonly plan: Plan;
  /** What must be masked before anything of a run is stored. */
  readonly redact: readonly RedactPath[];
  /** The node at a path of ids, "map-0/http-0". Throws where there is none. */
  node(planPath: string): PlanNode;
}

/** A version of a flow. */
export interface VersionKey {
  readonly org_id: string;
  readonly project_id: string;
  readonly flow_version: number;
}

/** The plans a process has loaded; one cache serves all of its requests and activities. */
export interface PlanCache {
  /** The plan of a version, also of a project that has been deleted since; null where there is none. */
  find(of: VersionKey): Promise<LoadedPlan | null>;
  /** The plan of a version. Throws if it does not exist. */
  get(of: VersionKey): Promise<LoadedPlan>;
}

interface Entry {
  readonly loaded: Promise<LoadedPlan | null>;
  /** 0 until it is loaded. */
  chars: number;
}

/** Keeps the most recently used plans in memory: a version never changes. */
export function createPlanCache(db: Database): PlanCache {
  const entries = new Map<string, Entry>();
  let chars = 0;

  function forget(key: string, entry: Entry): void {
    if (entries.get(key) !== entry) return;
    entries.delete(key);
    chars -= entry.chars;
  }

  async function load(key: string, { org_id, project_id, flow_version }: VersionKey): Promise<LoadedPlan | null> {
    const plan = await db.org(org_id, (connection) => getPlan(connection, project_id, flow_version));
    const entry = entries.get(key);
    if (!plan || !entry) return plan && asLoaded(plan);
    entry.chars = JSON.stringify(plan).length;
    chars += entry.chars;
    for (const [oldest, other] of entries) {
      if (chars <= MAX_PLAN_CHARS) break;
      if (oldest !== key) forget(oldest, other);
    }
    return asLoaded(plan);
  }

  function find(of: VersionKey): Promise<LoadedPlan | null> {
    const key = `${of.org_id}/${of.project_id}/${of.flow_version}`;
    const known = entries.get(key);
    if (known) {
      // The map is in the order of last use.
      entries.delete(key);
      entries.set(key, known);
      return known.loaded;
    }
    const entry: Entry = { loaded: load(key, of), chars: 0 };
    entries.set(key, entry);
    // Not cached: a missing version may be deployed next, and a failure may pass.
    entry.loaded.then(
      (found) => found ?? forget(key, entry),
      () => forget(key, entry),
    );
    return entry.loaded;
  }

  return {
    find,
    async get(of) {
      const found = await find(of);
      if (!found) throw new Error(`flow ${of.project_id} has no version ${of.flow_version}`);
      return found;
    },
  };
}

function asLoaded(plan: Plan): LoadedPlan {
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
      if (!found) throw new Error(`the flow has no node ${planPath}`);
      return found;
    },
  };
}
