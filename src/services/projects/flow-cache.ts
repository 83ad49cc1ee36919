import { LRUCache } from "lru-cache";
import { noSuchVersion, notFound } from "../../domain/errors.ts";
import type { Plan } from "../../domain/flow/plan/types.ts";
import { isUuid } from "../../domain/uuid.ts";
import type { Database } from "../../stores/db.ts";
import { wasPublished } from "../../stores/projects/flow-versions.ts";
import { findProject } from "../../stores/projects/projects.ts";
import type { Project } from "../../stores/projects/projects.ts";
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
export interface DeployedFlow {
  readonly project: Project;
  readonly version: number;
  readonly plan: Plan;
}

export interface FlowCache {
  /**
   * The flow of a version; -1 is the published one. Throws 404 for an unknown version or project (a project of another
   * organisation, a deleted one and an ID that is not a UUID are all unknown). A publish or delete by this process
   * takes effect immediately, by another process within 1 s.
   */
  get(orgId: string, projectId: string, version: number): Promise<DeployedFlow>;
  /** The same for callers of published versions only: a version that was never published is missing. */
  getPublished(orgId: string, projectId: string, version: number): Promise<DeployedFlow>;
  /** The flow that a run has executed, even if that was a draft. Throws as `get`. */
  ofRun(run: VersionKey): Promise<DeployedFlow>;
  /** Whether a version is or was published. */
  wasPublished(of: VersionKey): Promise<boolean>;
  /** Drops the cached published version of a project. Call it after the change is committed. */
  invalidate(orgId: string, projectId: string): void;
}

/** Caches which version of a flow is published; the plans themselves are in the PlanCache. */
export function createFlowCache(db: Database, plans: PlanCache): FlowCache {
  const pointers = new LRUCache<string, Promise<Project | null>>({ max: MAX_POINTERS, ttl: POINTER_MS });
  const published = new LRUCache<string, true>({ max: MAX_PUBLISHED });

  function pointer(orgId: string, projectId: string): Promise<Project | null> {
    const key = `${orgId}/${projectId}`;
    const known = pointers.get(key);
    if (known) return known;
    // Concurrent callers share this query.
    const project = db.org(orgId, (connection) => findProject(connection, projectId));
    pointers.set(key, project);
    project.catch(() => {
      if (pointers.peek(key) === project) pointers.delete(key);
    });
    return project;
  }

  async function get(orgId: string, projectId: string, wanted: number): Promise<DeployedFlow> {
    // Numbers below -1 are drafts that were run, which no other run may execute.
    if (wanted < -1) throw noSuchVersion();
    return find(orgId, projectId, wanted);
  }

  async function find(orgId: string, projectId: string, wanted: number): Promise<DeployedFlow> {
    const id = projectId.toLowerCase();
    const project = isUuid(id) ? await pointer(orgId, id) : null;
    if (!project) throw notFound("flow");
    const version = wanted === -1 ? project.published_version : wanted;
    if (version === null || version === 0 || Math.abs(version) > MAX_VERSION) throw noSuchVersion();
    const found = await plans.find({ org_id: orgId, project_id: id, flow_version: version });
    if (!found) throw noSuchVersion();
    return { project, version, plan: found.plan };
  }

  async function everPublished({ org_id, project_id, flow_version }: VersionKey): Promise<boolean> {
    const key = `${org_id}/${project_id}/${flow_version}`;
    if (published.get(key)) return true;
    const found = await db.org(org_id, (connection) => wasPublished(connection, project_id, flow_version));
    // Only "published" is cached: it never changes, whereas an unpublished version may be published at any time.
    if (found) published.set(key, true);
    return found;
  }

  return {
    get,
    ofRun: ({ org_id, project_id, flow_version }) => find(org_id, project_id, flow_version),
    async getPublished(orgId, projectId, wanted) {
      const flow = await get(orgId, projectId, wanted);
      const { project, version } = flow;
      const key = { org_id: orgId, project_id: project.project_id, flow_version: version };
      if (version !== project.published_version && !(await everPublished(key))) throw noSuchVersion();
      return flow;
    },
    wasPublished: everPublished,
    invalidate(orgId, projectId) {
      pointers.delete(`${orgId}/${projectId.toLowerCase()}`);
    },
  };
}
