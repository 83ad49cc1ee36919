import { isWithin } from "../../domain/accounts/kept-rights.ts";
import { Problem, conflict } from "../../domain/errors.ts";
import type { ReferenceKind } from "../../domain/flow/nodes/spec.ts";
import type { FlowReference } from "../../domain/flow/references.ts";
import type { FlowProblem, FlowProblemCode } from "../../domain/flow/validate/problems.ts";
import { findProviders, missingActionsOf } from "../providers/providers.ts";
import { holdConnections } from "../../stores/providers/connections.ts";
import { isUuid } from "../../domain/uuid.ts";
import type { Db } from "../../stores/db.ts";
import { holdKnowledgeBases } from "../../stores/knowledge/knowledge-bases.ts";
import { usersOf, usersOfActions, type ActionUser, type ReferenceUser } from "../../stores/projects/flow-references.ts";
import { environmentsOf } from "../../stores/projects/environments.ts";
import { findDeadReferences } from "../../stores/projects/flow-versions.ts";
import { holdSkills } from "../../stores/skills/skills.ts";

/** How to check whether the resources that flows refer to exist. */
interface Lookup {
  readonly code: FlowProblemCode;
  readonly noun: string;
  readonly hint: string;
  /**
   * Returns the missing ones. Locks the others until the transaction ends, so that they cannot be deleted while a flow
   * that uses them is being published.
   */
  missing(db: Db, references: readonly FlowReference[]): Promise<readonly FlowReference[]>;
}

const LOOKUPS: Readonly<Record<ReferenceKind, Lookup>> = {
  connection: {
    code: "unknown_connection",
    noun: "connection",
    hint: "GET /v2/connections lists the connections",
    missing: missingById(holdConnections),
  },
  project: {
    code: "unknown_project",
    noun: "project",
    hint: "GET /v2/projects lists the projects; to run another project's flow you must be an editor of that project",
    missing: missingProjects,
  },
  environment: {
    code: "unknown_environment",
    noun: "environment",
    hint: "GET /v2/projects/{project_id}/environments lists the environments of the other project",
    missing: missingEnvironments,
  },
  knowledge_base: {
    code: "unknown_knowledge_base",
    noun: "knowledge base",
    hint: "GET /v2/knowledge-bases lists the knowledge bases",
    missing: missingById(holdKnowledgeBases),
  },
  provider: {
    code: "unknown_provider",
    noun: "provider",
    hint: "GET /v2/providers lists the providers",
    missing: missingProviders,
  },
  action: {
    code: "unknown_action",
    noun: "action",
    hint: "GET /v2/providers/{provider_id}/actions lists the actions",
    missing: missingActions,
  },
  skill: {
    code: "unknown_skill",
    noun: "skill",
    hint: "GET /v2/skills lists the skills",
    missing: missingSkills,
  },
};

/** Problems for references to resources that do not exist in this organisation, or to projects outside `runnable`. */
export async function referenceProblems(
  db: Db,
  references: readonly FlowReference[],
  runnable?: readonly string[],
): Promise<FlowProblem[]> {
  const isHidden = ({ kind, id }: FlowReference): boolean => kind === "project" && !isWithin(runnable, id);
  const missing = new Set<FlowReference>(references.filter(isHidden));
  // Locked kind by kind and in the order of IDs, so that two deploys never deadlock.
  for (const kind of Object.keys(LOOKUPS).toSorted() as ReferenceKind[]) {
    const asked = references.filter((each) => each.kind === kind);
    if (asked.length > 0) for (const each of await LOOKUPS[kind].missing(db, asked)) missing.add(each);
  }
  // A missing project has no environments, and a hidden one must not tell which it has.
  const projects = new Set([...missing].flatMap(({ kind, id }) => (kind === "project" ? [id] : [])));
  const isSaid = ({ kind, id }: FlowReference): boolean => kind === "environment" && projects.has(projectOf(id));
  return references.filter((each) => missing.has(each) && !isSaid(each)).map(problemOf);
}

/** Throws 409 if a resource that an older version refers to was deleted since, so that it cannot be published again. */
export async function requireReferences(db: Db, references: readonly FlowReference[]): Promise<void> {
  const [problem] = await referenceProblems(db, references);
  if (problem === undefined) return;
  throw conflict(`Node ${problem.node_path} refers to something that no longer exists: ${problem.message}.`);
}

/** Most projects that a 409 lists. */
const MAX_LISTED = 100;

/** The projects whose published flow refers to a resource, at most as many as a 409 lists. */
export function listUsers(db: Db, kind: ReferenceKind, id: string): Promise<ReferenceUser[]> {
  return usersOf(db, { kind, id: id.toLowerCase() }, MAX_LISTED);
}

/** The projects whose published flow uses any of these actions. */
export async function listActionUsers(db: Db, providerId: string, actionIds: readonly string[]): Promise<ActionUser[]> {
  return actionIds.length === 0 ? [] : await usersOfActions(db, providerId, actionIds, MAX_LISTED);
}

/**
 * Throws 409 `in_use` if published flows refer to a resource that is about to be deleted. The transaction must have
 * locked its row for update.
 */
export async function refuseWhileUsed(db: Db, kind: ReferenceKind, id: string): Promise<void> {
  const used_by = await listUsers(db, kind, id);
  const [first, ...others] = used_by;
  if (first === undefined) return;
  const many = others.length === MAX_LISTED - 1 ? "many" : others.length;
  const flows = others.length === 0 ? "flow of project" : "flows of project";
  const more = others.length === 0 ? " uses" : ` and of ${many} more use`;
  const detail = `The published ${flows} ${first.project_id} (${first.name})${more} this ${LOOKUPS[kind].noun}. Change or delete that first.`;
  throw new Problem("in_use", detail, { extra: { used_by } });
}

function problemOf({ kind, version, node_id, node_path, path }: FlowReference): FlowProblem {
  const { code, noun, hint } = LOOKUPS[kind];
  const named = version === undefined || version === -1 ? "" : `, or it has no version ${version}`;
  return { node_id, node_path, path, code, severity: "error", message: `The ${noun} was not found${named}`, hint };
}

/** The lookup of kinds whose IDs are UUIDs: `hold` returns the existing IDs and protects them from deletion. */
function missingById(hold: (db: Db, ids: readonly string[]) => Promise<readonly string[]>): Lookup["missing"] {
  return async (db, references) => {
    const askable = [...new Set(references.map(({ id }) => id))].filter(isUuid).toSorted();
    const known = new Set(askable.length === 0 ? [] : await hold(db, askable));
    return references.filter(({ id }) => !known.has(id));
  };
}

async function missingProjects(db: Db, references: readonly FlowReference[]): Promise<readonly FlowReference[]> {
  const askable = references.filter(({ id }) => isUuid(id));
  const asked = askable.map(({ id, version }) => ({ project_id: id, version: Number(version ?? -1) }));
  const dead = new Set(asked.length === 0 ? [] : await findDeadReferences(db, asked));
  return references.filter((each) => !isUuid(each.id) || dead.has(askable.indexOf(each)));
}

async function missingEnvironments(db: Db, references: readonly FlowReference[]): Promise<readonly FlowReference[]> {
  const projects = references.map(({ id }) => projectOf(id)).filter(isUuid);
  const known = await environmentsOf(db, projects);
  return references.filter(({ id }) => known.get(projectOf(id))?.includes(id.slice(id.indexOf("/") + 1)) === false);
}

/** The project of an environment's ID, which is `<project>/<name>`. */
const projectOf = (id: string): string => id.slice(0, id.indexOf("/"));

async function missingSkills(db: Db, references: readonly FlowReference[]): Promise<readonly FlowReference[]> {
  const askable = [...new Set(references.map(({ id }) => id))].filter(isUuid).toSorted();
  const latest = new Map(askable.length === 0 ? [] : await holdSkills(db, askable));
  // Versions are never deleted individually, so every number up to the latest exists.
  return references.filter(({ id, version }) => (typeof version === "number" ? version : 1) > (latest.get(id) ?? 0));
}

async function missingProviders(db: Db, references: readonly FlowReference[]): Promise<readonly FlowReference[]> {
  const ids = references.map(({ id }) => id);
  const known = await findProviders(db, ids);
  return references.filter(({ id }) => !known.has(id));
}

/** An action's ID is `<provider>/<action>`; provider IDs contain no slash. */
async function missingActions(db: Db, references: readonly FlowReference[]): Promise<readonly FlowReference[]> {
  const wanted = references.map(({ id }) => {
    const [provider_id = "", ...rest] = id.split("/");
    return { provider_id, action_id: rest.join("/") };
  });
  const missing = await missingActionsOf(db, wanted);
  return references.filter((_, at) => missing.has(at));
}
