import { LRUCache } from "lru-cache";
import { noSuchVersion, notFound } from "../../domain/errors.ts";
import type { Plan } from "../../domain/flow/plan/types.ts";
import { isUuid } from "../../domain/uuid.ts";
import type { Database } from "../../stores/db.ts";
import { wasPublished } from "../../stores/projects/flow-versions.ts";
import { findProjectInEnvironments, type Project, type ProjectInEnvironments } from "../../stores/projects/projects.ts";
import { versionIn, type VersionInEnvironment } from "./environment-pointers.ts";
import type { PlanCache, VersionKey } from "./plans.ts";

/**
 * How long a process may miss another process's publish, rename or delete (ms). Each flow in use costs one short query
 * per this time.
 */
const POINTER_MS = 1000;
const MAX_POINTERS = 10_000;
const MAX_PUBLISHED = 10_000;
const MAX_VERSION = 2_147_483_647;

/** A flow in the form that a run needs. */
export interface DeployedFlow extends VersionInEnvironment {
  readonly project: Project;
  /** With the connections of the environment. */
  readonly plan: Plan;
}

/** The flow of a run, as its row has it. */
export interface RanFlow extends VersionKey {
  readonly environment?: string | null;
}

export type FlowCache = ReturnType<typeof createFlowCache>;

/** Caches which version each environment of a flow has; the plans themselves are in the PlanCache. */
export function createFlowCache(db: Database, plans: PlanCache) {
  const pointers = new LRUCache<string, Promise<ProjectInEnvironments | null>>({ max: MAX_POINTERS, ttl: POINTER_MS });
  const published = new LRUCache<string, true>({ max: MAX_PUBLISHED });

  function pointer(orgId: string, projectId: string): Promise<ProjectInEnvironments | null> {
    const key = `${orgId}/${projectId}`;
    const known = pointers.get(key);
    if (known) return known;
    // Concurrent callers share this query.
    const project = db.org(orgId, (connection) => findProjectInEnvironments(connection, projectId));
    pointers.set(key, project);
    project.catch(() => {
      if (pointers.peek(key) === project) pointers.delete(key);
    });
    return project;
  }

  /**
   * The flow of a version; -1 is the one of the environment, which is production unless it is named. Version and
   * connections are read together, so no caller sees those of two promotions. Throws 404 for an unknown version,
   * environment or project (a project of another organisation, a deleted one and an ID that is not a UUID are all
   * unknown), and 409 `environment_empty` if the named environment has no version. A promotion or delete by this process
   * takes effect immediately, by another process within 1 s.
   */
  async function get(orgId: string, projectId: string, wanted: number, name?: string): Promise<DeployedFlow> {
    // Numbers below -1 are drafts that were run, which no other run may execute.
    if (wanted < -1) throw noSuchVersion();
    return find(orgId, projectId, (project) =>
      wanted === -1 ? versionIn(project, name) : { version: wanted, environment: null },
    );
  }

  async function find(
    orgId: string,
    projectId: string,
    choose: (project: ProjectInEnvironments) => VersionInEnvironment,
  ): Promise<DeployedFlow> {
    const id = projectId.toLowerCase();
    const project = isUuid(id) ? await pointer(orgId, id) : null;
    if (!project) throw notFound("flow");
    const { version, environment } = choose(project);
    if (version === 0 || Math.abs(version) > MAX_VERSION) throw noSuchVersion();
    const bindings_id = environment?.bindings_id ?? null;
    const found = await plans.find({ org_id: orgId, project_id: id, flow_version: version, bindings_id });
    if (!found) throw noSuchVersion();
    return { project, version, plan: found.plan, environment };
  }

  /** Whether a version is or was published. */
  async function everPublished({ org_id, project_id, flow_version }: VersionKey): Promise<boolean> {
    const key = `${org_id}/${project_id}/${flow_version}`;
    if (published.get(key)) return true;
    const found = await db.org(org_id, (connection) => wasPublished(connection, project_id, flow_version));
    // Only "published" is cached: it never changes, whereas an unpublished version may be published at any time.
    if (found) published.set(key, true);
    return found;
  }

  /** The flow that a run has executed, even if that was a draft. Throws as `get`. */
  const ofRun = ({ org_id, project_id, flow_version, environment, bindings_id }: RanFlow): Promise<DeployedFlow> =>
    find(org_id, project_id, () => ({
      version: flow_version,
      environment: environment == null ? null : { name: environment, bindings_id: bindings_id ?? null },
    }));

  return {
    get,
    ofRun,
    /**
     * The flow for a run that repeats or resumes another one in its environment: the same version if `version` is
     * undefined, the environment's current one for -1. Throws as `get`.
     */
    async again(run: RanFlow, version: number | undefined): Promise<DeployedFlow> {
      if (version === undefined) return ofRun(run);
      if (version === -1) return get(run.org_id, run.project_id, -1, run.environment ?? undefined);
      // The connections stay those of the run: a rerun in staging must not use the ones of production.
      if (version < -1) throw noSuchVersion();
      return ofRun({ ...run, flow_version: version });
    },
    /** As `get`, for callers of published versions only: a version that was never published is missing. */
    async getPublished(orgId: string, projectId: string, wanted: number, name?: string): Promise<DeployedFlow> {
      const flow = await get(orgId, projectId, wanted, name);
      const { project, version } = flow;
      const key = { org_id: orgId, project_id: project.project_id, flow_version: version };
      if (version !== project.published_version && !(await everPublished(key))) throw noSuchVersion();
      return flow;
    },
    wasPublished: everPublished,
    /** Drops the cached published version of a project. Call it after the change is committed. */
    invalidate(orgId: string, projectId: string): void {
      pointers.delete(`${orgId}/${projectId.toLowerCase()}`);
    },
  };
}
