import { uuidv7 } from "uuidv7";
import { organisationRole, roleAllows, type Principal } from "../../domain/accounts/principal.ts";
import {
  Problem,
  conflict,
  ValidationProblem,
  invalid,
  noSuchVersion,
  required,
  type ValidationIssue,
} from "../../domain/errors.ts";
import { canonicalJson } from "../../domain/flow/definition/content-hash.ts";
import { flowReferences } from "../../domain/flow/references.ts";
import { MAX_ENVIRONMENTS, PRODUCTION, type Bindings } from "../../domain/projects/environments.ts";
import type { Db } from "../../stores/db.ts";
import {
  findEarlierPromotion,
  findPromotion,
  insertEnvironment,
  insertPromotion,
  keepEnvironments,
  listEnvironments,
  type Environment,
  type Promotion,
  type PromotionKind,
} from "../../stores/projects/environments.ts";
import { findFlowVersion, type FlowVersion } from "../../stores/projects/flow-versions.ts";
import { lockProject, publishVersion, type Project } from "../../stores/projects/projects.ts";
import { missingConnections, whyNotInPlaceOf } from "../providers/hold-connections.ts";
import { noSuchEnvironment } from "./environment-pointers.ts";
import { requireReferences } from "./flow-references.ts";

/** A version that an environment is to get. */
export interface WantedPromotion {
  readonly project_id: string;
  readonly environment: string;
  readonly version: number;
  /** Undefined keeps the connections that the environment has. */
  readonly connections?: Bindings | undefined;
  readonly notes: string;
  readonly promoter: Principal;
}

interface Allowed {
  readonly kind?: PromotionKind;
  readonly repeats_id?: string;
  /** The review that allows it. */
  readonly review_id?: string;
  /** Whether an unknown environment is created. */
  readonly creates?: boolean;
}

/** What a promotion changed; `promotion` is the current one if nothing was different. */
export interface Promoted {
  readonly before: Environment;
  readonly promotion: Promotion;
  readonly created: boolean;
}

/**
 * Gives an environment a version and connections, in the caller's transaction: calls see both or neither. Runs in progress keep theirs.
 * Throws 404 for an unknown project, environment or version, 409 `review_required`, and 422 for connections that do not fit.
 */
export async function promote(db: Db, wanted: WantedPromotion, allowed: Allowed = {}): Promise<Promoted> {
  const { project_id, environment: name, notes, promoter } = wanted;
  const project = required(await lockProject(db, project_id), "project");
  await keepEnvironments(db, project);
  const { environment: before, created } = await environmentFor(db, project, name, allowed.creates === true);
  const { kind = "promotion", repeats_id = null, review_id = null } = allowed;
  if (before.requires_review && review_id === null && kind === "promotion") {
    const detail = `The environment "${name}" needs the approval of a second person. Propose the version with POST /v2/projects/{project_id}/environments/${name}/reviews.`;
    throw new Problem("review_required", detail);
  }
  const { version, connections } = await checkedPromotion(db, before, wanted, kind === "rollback");
  await requireReferences(db, flowReferences(version.definition));
  const current = before.promotion;
  if (current && before.version === version.version && isSame(current.connections, connections) && review_id === null)
    return { before, promotion: current, created };
  const promotion_id = uuidv7();
  await insertPromotion(db, {
    promotion_id,
    org_id: promoter.org_id,
    project_id,
    environment: name,
    version: version.version,
    connections,
    notes,
    kind,
    previous_id: current?.promotion_id ?? null,
    previous_version: before.version,
    repeats_id,
    review_id,
    promoted_by_type: promoter.type,
    promoted_by: promoter.id,
  });
  if (name === PRODUCTION) await publishVersion(db, project_id, version.version);
  return { before, promotion: required(await findPromotion(db, project_id, promotion_id), "promotion"), created };
}

/**
 * Gives an environment again what it had before: the promotion with this ID, or else the newest one that differs from the current one. What
 * has run in the environment needs no second review. Throws 409 if there is nothing to go back to.
 */
export async function rollBack(
  db: Db,
  {
    promotion_id,
    ...wanted
  }: Omit<WantedPromotion, "version" | "connections"> & { readonly promotion_id?: string | undefined },
): Promise<Promoted> {
  const { project_id, environment: name } = wanted;
  const project = required(await lockProject(db, project_id), "project");
  const environment = await requireEnvironment(db, project, name);
  const earlier =
    promotion_id === undefined
      ? environment.promotion && (await earlierOf(db, environment.promotion))
      : await findPromotion(db, project_id, promotion_id);
  if (promotion_id !== undefined && earlier?.environment !== name)
    throw invalid(["body", "promotion_id"], "The environment has no promotion with this ID");
  if (!earlier) throw conflict(`The environment "${name}" had no other version before this one.`);
  const { version, connections, promotion_id: repeats_id } = earlier;
  return promote(db, { ...wanted, version, connections }, { kind: "rollback", ...(repeats_id && { repeats_id }) });
}

/** What an environment had before; of a version that was published before promotions were recorded, only its number is known. */
async function earlierOf(
  db: Db,
  current: Promotion,
): Promise<
  (Pick<Promotion, "version" | "connections" | "environment"> & { readonly promotion_id: string | null }) | null
> {
  const known = await findEarlierPromotion(db, current);
  const { previous_version: version, environment } = current;
  if (known || version === null || version === current.version) return known;
  return { version, connections: {}, environment, promotion_id: null };
}

/** An environment of a project. Throws 404 `environment_not_found`. */
export async function requireEnvironment(db: Db, project: Project, name: string): Promise<Environment> {
  return (await listEnvironments(db, project)).find((each) => each.name === name) ?? noSuchEnvironment(name);
}

/** The version and the connections of a promotion, checked; `repeats` an earlier one. Throws as `promote`. */
export async function checkedPromotion(
  db: Db,
  environment: Environment,
  { project_id, version: number, connections, promoter }: WantedPromotion,
  repeats = false,
): Promise<{ readonly version: FlowVersion; readonly connections: Bindings }> {
  const version = number < 1 ? null : await findFlowVersion(db, project_id, number);
  if (version === null) throw noSuchVersion();
  const kept = environment.promotion?.connections ?? {};
  if (connections === undefined || isSame(connections, kept)) return { version, connections: kept };
  if (repeats) {
    await requireStillThere(db, connections);
    return { version, connections };
  }
  // Who may see the organisation's connections may choose among them.
  const mayChoose = promoter.limits?.projects == null && roleAllows(organisationRole(promoter), "viewer");
  if (!mayChoose) {
    const detail = "Choosing connections needs a credential that can read the organisation's connections.";
    throw new Problem("forbidden", detail);
  }
  await requireFitting(db, version, connections);
  return { version, connections };
}

/** Throws 409 if a connection of an earlier promotion was deleted since. */
async function requireStillThere(db: Db, connections: Bindings): Promise<void> {
  const [gone] = await missingConnections(db, Object.values(connections));
  if (gone !== undefined) throw conflict(`The connection ${gone}, which the environment used then, no longer exists.`);
}

/** Throws 422 unless each connection replaces one that the flow uses by another one of the same provider. */
async function requireFitting(db: Db, version: FlowVersion, connections: Bindings): Promise<void> {
  const used = new Set(
    flowReferences(version.definition).flatMap(({ kind, id }) => (kind === "connection" ? [id] : [])),
  );
  const missing = await missingConnections(db, Object.values(connections));
  const issues: ValidationIssue[] = [];
  for (const [from, to] of Object.entries(connections)) {
    const fault = !used.has(from)
      ? "The flow of this version does not use this connection"
      : missing.has(to)
        ? "Connection not found"
        : await whyNotInPlaceOf(db, from, to);
    if (fault !== null) issues.push({ loc: ["body", "connections", from], msg: fault, type: "value_error" });
  }
  if (issues.length > 0) throw new ValidationProblem(issues);
}

const isSame = (a: Bindings, b: Bindings): boolean => canonicalJson(a) === canonicalJson(b);

async function environmentFor(
  db: Db,
  project: Project,
  name: string,
  creates: boolean,
): Promise<{ readonly environment: Environment; readonly created: boolean }> {
  const all = await listEnvironments(db, project);
  const known = all.find((each) => each.name === name);
  if (known) return { environment: known, created: false };
  if (!creates) noSuchEnvironment(name);
  if (all.length >= MAX_ENVIRONMENTS)
    throw conflict(`A project can have at most ${MAX_ENVIRONMENTS} environments. Delete one first.`);
  await insertEnvironment(db, project, name);
  return { environment: await requireEnvironment(db, project, name), created: true };
}
