import { noSuchVersion, notFound } from "../../domain/errors.ts";
import type { Plan } from "../../domain/flow/plan/types.ts";
import { isUuid } from "../../domain/uuid.ts";
import type { Database } from "../../stores/db.ts";
import { wasPublished } from "../../stores/projects/flow-versions.ts";
import { findProject } from "../../stores/projects/projects.ts";
import type { Project } from "../../stores/projects/projects.ts";
import type { PlanCache, VersionKey } from "./plans.ts";

/**
 * How long another process's publish, rename or delete may go unnoticed. It costs one short query a second and flow.
 */
const POINTER_MS = 1000;
const MAX_POINTERS = 10_000;
const MAX_PUBLISHED = 100_000;
const MAX_VERSION = 2_147_483_647;

/** A flow as a run needs it. */
export interface DeployedFlow {
  readonly project: Project;
  readonly version: number;
  readonly plan: Plan;
}

export interface FlowCache {
  /**
   * The flow of a version; -1 is the published one. Throws 404 for an unknown version or project (one of another
   * organisation, a deleted one and an id that is no UUID are all unknown). A publish or delete of this process is
   * seen at once, one of another process within 1 s.
   */
  get(orgId: string, projectId: string, version: number): Promise<DeployedFlow>;
  /** The same for callers of published versions only: a version that was never published is missing. */
  getPublished(orgId: string, projectId: string, version: number): Promise<DeployedFlow>;
  /** Whether a version is or was published. */
  wasPublished(of: VersionKey): Promise<boolean>;
  /** Forgets which version of a project is published. Call it after the change is committed. */
  invalidate(orgId: string, projectId: string): void;
}

interface Pointer {
  readonly project: Promise<Project | null>;
  readonly until: number;
}

/** Keeps in memory which version of a flow is published; the plans themselves are in the process's cache of plans. */
export function createFlowCache(db: Database, plans: PlanCache): FlowCache {
  const pointers = new Map<string, Pointer>();
  const published = new Set<string>();

  function pointer(orgId: string, projectId: string): Promise<Project | null> {
    const key = `${orgId}/${projectId}`;
    const known = pointers.get(key);
    if (known && known.until > Date.now()) return known.project;
    // Concurrent callers share this query.
    const project = db.org(orgId, (connection) => findProject(connection, projectId));
    pointers.delete(key);
    if (pointers.size >= MAX_POINTERS) pointers.delete(pointers.keys().next().value ?? "");
    const entry = { project, until: Date.now() + POINTER_MS };
    pointers.set(key, entry);
    project.catch(() => {
      if (pointers.get(key) === entry) pointers.delete(key);
    });
    return project;
  }

  async function get(orgId: string, projectId: string, wanted: number): Promise<DeployedFlow> {
    const id = projectId.toLowerCase();
    const project = isUuid(id) ? await pointer(orgId, id) : null;
    if (!project) throw notFound("flow");
    const version = wanted === -1 ? project.published_version : wanted;
    if (version === null || version < 1 || version > MAX_VERSION) throw noSuchVersion();
    const found = await plans.find({ org_id: orgId, project_id: id, flow_version: version });
    if (!found) throw noSuchVersion();
    return { project, version, plan: found.plan };
  }

  async function everPublished({ org_id, project_id, flow_version }: VersionKey): Promise<boolean> {
    const key = `${org_id}/${project_id}/${flow_version}`;
    if (published.has(key)) return true;
    const found = await db.org(org_id, (connection) => wasPublished(connection, project_id, flow_version));
    // A version that was published stays so. One that was not may be published next, so that is not cached.
    if (found) {
      if (published.size >= MAX_PUBLISHED) published.clear();
      published.add(key);
    }
    return found;
  }

  return {
    get,
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
