import { notFound } from "../../domain/errors.ts";
import type { Plan } from "../../domain/flow/plan/types.ts";
import type { Database } from "../../stores/db.ts";
import { findFlowVersion } from "../../stores/projects/flow-versions.ts";
import { findProject } from "../../stores/projects/projects.ts";
import type { Project } from "../../stores/projects/projects.ts";
import { noSuchVersion } from "../http/path-id.ts";

/** How long another process's publish, rename or delete may go unnoticed. One short query a second and flow is the price. */
const POINTER_MS = 1000;
const MAX_POINTERS = 10_000;
/** Plans kept, as the length of their JSON text. */
const MAX_PLAN_CHARS = 32 * 1024 * 1024;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** A flow as a run needs it. */
export interface DeployedFlow {
  readonly project: Project;
  readonly version: number;
  readonly plan: Plan;
  readonly content_hash: string;
}

export interface FlowCache {
  /**
   * The flow of a version, -1: of the published one. Throws the 404 of an unknown project (of another organisation, deleted,
   * no UUID at all: the same) or version. What this process publishes or deletes is seen at once, what another does within 1 s.
   */
  get(orgId: string, projectId: string, version: number): Promise<DeployedFlow>;
  /** Forgets what is published of a project. Call it after the change is committed. */
  invalidate(orgId: string, projectId: string): void;
}

interface Pointer {
  readonly project: Promise<Project | null>;
  readonly until: number;
}

interface Kept {
  readonly plan: Plan;
  readonly content_hash: string;
  readonly chars: number;
}

/** Keeps plans in memory: a version never changes, only which one is published does. */
export function createFlowCache(db: Database): FlowCache {
  const pointers = new Map<string, Pointer>();
  const plans = new Map<string, Kept>();
  let chars = 0;

  function pointer(orgId: string, projectId: string): Promise<Project | null> {
    const key = `${orgId}/${projectId}`;
    const known = pointers.get(key);
    if (known && known.until > Date.now()) return known.project;
    // Everybody who asks meanwhile waits for the same query.
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

  async function kept(orgId: string, projectId: string, version: number): Promise<Kept | null> {
    const key = `${orgId}/${projectId}/${version}`;
    const known = plans.get(key);
    if (known) {
      plans.delete(key);
      plans.set(key, known);
      return known;
    }
    const found = await db.org(orgId, (connection) => findFlowVersion(connection, projectId, version));
    if (!found) return null;
    const { plan, content_hash } = found;
    const entry = { plan, content_hash, chars: JSON.stringify(plan).length };
    if (!plans.has(key)) chars += entry.chars;
    plans.set(key, entry);
    for (const [oldest, { chars: freed }] of plans) {
      if (chars <= MAX_PLAN_CHARS || oldest === key) break;
      plans.delete(oldest);
      chars -= freed;
    }
    return entry;
  }

  return {
    async get(orgId, projectId, version) {
      const id = projectId.toLowerCase();
      const project = UUID.test(id) ? await pointer(orgId, id) : null;
      if (!project) throw notFound("flow");
      const number = version === -1 ? project.published_version : version;
      const found = number === null || number < 1 || number > 2_147_483_647 ? null : await kept(orgId, id, number);
      if (number === null || !found) throw noSuchVersion();
      return { project, version: number, plan: found.plan, content_hash: found.content_hash };
    },
    invalidate(orgId, projectId) {
      pointers.delete(`${orgId}/${projectId.toLowerCase()}`);
    },
  };
}
