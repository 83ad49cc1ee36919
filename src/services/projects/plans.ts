import { LRUCache } from "lru-cache";
import { bindConnections } from "../../domain/flow/plan/bind-connections.ts";
import { planNodeAt } from "../../domain/flow/plan/places.ts";
import type { Plan, PlanNode } from "../../domain/flow/plan/types.ts";
import { parseRedactPaths, type RedactPath } from "../../domain/flow/redact.ts";
import type { Database } from "../../stores/db.ts";
import { bindingsOf } from "../../stores/projects/environments.ts";
import { getPlan } from "../../stores/projects/flow-versions.ts";

/** Longest total of the cached plans (characters of JSON). */
const MAX_PLAN_CHARS = 32 * 1024 * 1024;

/** A plan in the form that executors use. */
export interface LoadedPlan {
  readonly plan: Plan;
  /** The values that must be masked before a run's data is stored. */
  readonly redact: readonly RedactPath[];
  /** The node at a path of IDs such as "map-0/http-0". Throws if there is none. */
  node(planPath: string): PlanNode;
}

/** A version of a flow, with the connections that its nodes use. */
export interface VersionKey {
  readonly org_id: string;
  readonly project_id: string;
  readonly flow_version: number;
  /** The promotion whose connections replace those of the flow; null or absent if none are replaced. */
  readonly bindings_id?: string | null;
}

/** The plans a process has loaded; one cache serves all of its requests and activities. */
export type PlanCache = ReturnType<typeof createPlanCache>;

interface Entry {
  readonly loaded: Promise<LoadedPlan | null>;
  /** The plan's length; 1 until it is loaded. */
  readonly chars: number;
}

/** Keeps the most recently used plans in memory; that is safe because versions and promotions never change. */
export function createPlanCache(db: Database) {
  const entries = new LRUCache<string, Entry>({ maxSize: MAX_PLAN_CHARS, sizeCalculation: ({ chars }) => chars });

  /** The plan of a version, even of a deleted project; null if there is none. */
  function find(of: VersionKey): Promise<LoadedPlan | null> {
    const key = `${of.org_id}/${of.project_id}/${of.flow_version}/${of.bindings_id ?? ""}`;
    const known = entries.get(key);
    if (known) return known.loaded;
    const plan = db.org(of.org_id, async (connection) => {
      const found = await getPlan(connection, of.project_id, of.flow_version);
      if (found === null || of.bindings_id == null) return found;
      return bindConnections(found, await bindingsOf(connection, of.bindings_id));
    });
    const entry: Entry = { loaded: plan.then((found) => found && asLoaded(found)), chars: 1 };
    entries.set(key, entry);
    /** Neither a missing version nor an error is cached: one may be deployed later, the other may be transient. */
    const settle = (found: Plan | null): void => {
      if (entries.peek(key) !== entry) return;
      if (found) entries.set(key, { loaded: entry.loaded, chars: JSON.stringify(found).length });
      else entries.delete(key);
    };
    plan.then(settle, () => settle(null));
    return entry.loaded;
  }

  return {
    find,
    /** The plan of a version. Throws if it does not exist. */
    async get(of: VersionKey): Promise<LoadedPlan> {
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
      const found = planNodeAt(plan, planPath);
      if (!found) throw new Error(`the flow has no node ${planPath}`);
      return found;
    },
  };
}
