import type { FlowDefinition } from "../../domain/flow/definition/definition.ts";
import type { CalledFlow } from "../../domain/flow/nodes/called-flow.ts";
import type { KeptRights, RightsThenAndNow } from "../../domain/accounts/kept-rights.ts";
import type { Plan } from "../../domain/flow/plan/types.ts";
import { PRODUCTION } from "../../domain/projects/environments.ts";
import { columns, type RowOf } from "../columns.ts";
import type { Db } from "../db.ts";
import { numberKeysetSql, selectPage, type Keyset } from "../keyset.ts";
import { nameOf } from "./author-names.ts";
import { ownerOfRights, PRESENT_RIGHTS } from "../rights.ts";

const ROW = columns(`project_id uuid, version int, content_hash text, notes text, created_by uuid null,
  created_at timestamptz`);

/** A version without its flow, for lists. */
export interface FlowVersionHead extends RowOf<typeof ROW> {
  /** Whether the project's published version is this one. */
  readonly published: boolean;
  /** The e-mail address of a user or the name of a key; null if unknown or deleted. */
  readonly created_by_name: string | null;
}

export interface FlowVersion extends FlowVersionHead {
  readonly definition: FlowDefinition;
  readonly plan: Plan;
}

export interface NewFlowVersion extends Omit<FlowVersion, "published" | "created_by_name" | "created_at"> {
  readonly org_id: string;
  readonly rights: KeptRights | null;
}

const HEAD = `${ROW.select("v")}, coalesce(p.published_version = v.version, false) as published,
  ${nameOf("v.created_by", "v.org_id")} as created_by_name`;
const FROM = `from flow_versions v join projects p using (project_id) where v.org_id = current_org() and p.deleted_at is null`;
/** Columns of a version `v`; objects keep the order in which their fields were written. */
export const DEFINITION = "coalesce(v.written_definition, v.definition::json) as definition";
const PLAN = "coalesce(v.written_plan, v.plan::json) as plan";
export async function insertFlowVersion(db: Db, version: NewFlowVersion): Promise<void> {
  await db.query(
    `insert into flow_versions (project_id, version, org_id, definition, written_definition, plan, written_plan, content_hash,
          notes, created_by, rights)
      values ($1::uuid, $2::int, $3::uuid, $4::json::jsonb, $4::json, $5::json::jsonb, $5::json, $6::text, $7::text, $8::uuid,
          $9::jsonb)`,
    [
      version.project_id,
      version.version,
      version.org_id,
      JSON.stringify(version.definition),
      JSON.stringify(version.plan),
      version.content_hash,
      version.notes,
      version.created_by,
      version.rights && JSON.stringify(version.rights),
    ],
  );
}

/** Replaces the rights that a version keeps by those of the caller who deployed the same content again. */
export async function keepVersionRights(
  db: Db,
  { project_id, version }: Pick<FlowVersionHead, "project_id" | "version">,
  rights: KeptRights,
): Promise<void> {
  await db.query(
    `update flow_versions set rights = $3::jsonb
      where org_id = current_org() and project_id = $1::uuid and version = $2::int and rights is distinct from $3::jsonb`,
    [project_id, version, JSON.stringify(rights)],
  );
}

/**
 * Replaces the parts of a version that its content hash leaves out: `ui`, the notes on nodes, and the version's own notes unless these are
 * empty.
 */
export async function redrawVersion(
  db: Db,
  { project_id, version }: Pick<FlowVersionHead, "project_id" | "version">,
  { definition, notes }: Pick<NewFlowVersion, "definition" | "notes">,
): Promise<void> {
  await db.query(
    `update flow_versions set definition = $3::json::jsonb, written_definition = $3::json, notes = coalesce(nullif($4::text, ''), notes)
      where org_id = current_org() and project_id = $1::uuid and version = $2::int`,
    [project_id, version, JSON.stringify(definition), notes],
  );
}

/** The rights that a version keeps, and the current rights of its user; null if the version does not exist. */
export async function findVersionRights(
  db: Db,
  { project_id, flow_version }: { readonly project_id: string; readonly flow_version: number },
): Promise<RightsThenAndNow | null> {
  return db.first(
    `select v.rights, ${PRESENT_RIGHTS} from flow_versions v ${ownerOfRights("v")}
      where v.org_id = current_org() and v.project_id = $1::uuid and v.version = $2::int`,
    [project_id, flow_version],
  );
}

export async function findFlowVersion(db: Db, projectId: string, version: number): Promise<FlowVersion | null> {
  return db.first(
    `select ${HEAD}, ${DEFINITION}, ${PLAN} ${FROM} and v.project_id = $1::uuid and v.version = $2::int`,
    [projectId, version],
  );
}

/** A flow that is called, with the name of its project. */
export type CalledVersion = Pick<FlowVersion, "project_id" | "version" | "content_hash" | "definition"> & {
  readonly name: string;
};

/**
 * The versions that calls refer to, each at the position of its call; -1 is the published one, or the one of the
 * named environment. Every project ID must be a UUID.
 */
export async function findCalledVersions(
  db: Db,
  calls: readonly CalledFlow[],
): Promise<ReadonlyMap<number, CalledVersion>> {
  const found = await db.query<CalledVersion & { readonly position: number }>(
    `select (r.position - 1)::int as position, p.name, v.project_id, v.version, v.content_hash, ${DEFINITION}
      from unnest($1::uuid[], $2::bigint[], $3::text[]) with ordinality as r (project_id, version, environment, position)
      join projects p on p.project_id = r.project_id and p.org_id = current_org() and p.deleted_at is null
      left join environments e on e.project_id = p.project_id and e.name = r.environment and e.name <> '${PRODUCTION}'
      join flow_versions v on v.project_id = p.project_id and v.org_id = p.org_id
        and v.version = case when r.version <> -1 then r.version when coalesce(r.environment, '${PRODUCTION}') = '${PRODUCTION}'
          then p.published_version else e.version end`,
    [
      calls.map(({ project_id }) => project_id),
      calls.map(({ version }) => version),
      calls.map(({ environment }) => environment ?? null),
    ],
  );
  return new Map(found.map(({ position, ...version }) => [position, version]));
}

/** Which of these versions a project does not have. */
export async function missingFlowVersions(db: Db, projectId: string, versions: readonly number[]): Promise<number[]> {
  return db.column(
    `select version from unnest($2::int[]) as wanted (version)
      where not exists (select ${FROM} and v.project_id = $1::uuid and v.version = wanted.version)`,
    [projectId, versions],
  );
}

/** Whether a version is or was published. */
export async function wasPublished(db: Db, projectId: string, version: number): Promise<boolean> {
  return db.any(
    `select from flow_versions where org_id = current_org() and project_id = $1::uuid and version = $2::int
      and first_published_at is not null`,
    [projectId, version],
  );
}

/** The version of a project with this content. */
export async function findFlowVersionByContent(
  db: Db,
  projectId: string,
  contentHash: string,
): Promise<FlowVersionHead | null> {
  return db.first(
    `select ${HEAD} ${FROM} and v.project_id = $1::uuid and v.content_hash = $2::text and v.version > 0`,
    [projectId, contentHash],
  );
}

/** A stored document of a draft with this content and the same rights that a run used recently, so that no purge removes it soon. */
export async function findFrozenDraft(
  db: Db,
  projectId: string,
  contentHash: string,
  rights: KeptRights,
): Promise<Pick<FlowVersion, "version" | "plan"> | null> {
  return db.first(
    `select v.version, ${PLAN} from flow_versions v
      where v.org_id = current_org() and v.project_id = $1::uuid and v.version < -1 and v.content_hash = $2::text
        and v.rights = $3::jsonb and v.created_at > now() - interval '12 hours'
      order by v.version limit 1`,
    [projectId, contentHash, JSON.stringify(rights)],
  );
}

/** Removes up to `limit` documents of drafts that are older than a day and that no run refers to. System only. */
export async function purgeFrozenDrafts(db: Db, limit: number): Promise<number> {
  return db.count(
    `delete from flow_versions where (project_id, version) in (
        select v.project_id, v.version from flow_versions v
        where v.version < -1 and v.created_at < now() - interval '1 day' and not exists (
          select from runs r where r.project_id = v.project_id and r.flow_version = v.version and r.flow_version < -1)
        limit $1::int for update skip locked)`,
    [limit],
  );
}

/** A page of a project's versions; `beyond` is a version number. */
export async function listFlowVersions(db: Db, projectId: string, page: Keyset): Promise<FlowVersionHead[]> {
  const select = `select ${HEAD} ${FROM} and v.project_id = $1::uuid and v.version > 0`;
  return selectPage(db, page, "v.version", select, [projectId], numberKeysetSql);
}

/**
 * The positions of the references to missing flows. Existing projects are locked against deletion until the transaction ends. Every project
 * ID must be a UUID.
 */
export async function findDeadReferences(db: Db, references: readonly CalledFlow[]): Promise<number[]> {
  return db.column(
    `with held as (
        select project_id from projects
        where project_id = any ($1::uuid[]) and org_id = current_org() and deleted_at is null
        order by project_id for key share)
      select (r.position - 1)::int as position
      from unnest($1::uuid[], $2::bigint[]) with ordinality as r (project_id, version, position)
      where r.project_id not in (select project_id from held)
        or r.version <> -1 and not exists (
          select from flow_versions v where v.project_id = r.project_id and v.version = r.version)`,
    [references.map((reference) => reference.project_id), references.map((reference) => reference.version)],
  );
}

/** The plan of a version, also of a deleted project, because its runs continue. */
export async function getPlan(db: Db, projectId: string, version: number): Promise<Plan | null> {
  return db.value(`select ${PLAN} from flow_versions v where v.project_id = $1::uuid and v.version = $2::integer`, [
    projectId,
    version,
  ]);
}
