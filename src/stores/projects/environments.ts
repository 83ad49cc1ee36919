import type { Principal } from "../../domain/accounts/principal.ts";
import { DEFAULT_ENVIRONMENTS, PRODUCTION, type Bindings } from "../../domain/projects/environments.ts";
import { columns, type RowOf } from "../columns.ts";
import type { Db } from "../db.ts";
import { selectPage, type Keyset } from "../keyset.ts";
import { nameOf } from "./author-names.ts";
import type { Project } from "./projects.ts";

export type PromotionKind = "promotion" | "rollback";

const ROW = columns(`promotion_id uuid, project_id uuid, environment text, version int, connections jsonb, notes text,
  kind text, previous_version int null, repeats_id uuid null, review_id uuid null, promoted_by_type text,
  promoted_by uuid, promoted_at timestamptz`);

/** A version that an environment got, with the connections that it uses there. Never changes. */
export interface Promotion extends RowOf<typeof ROW> {
  readonly connections: Bindings;
  readonly kind: PromotionKind;
  /** The promotion that a roll back repeats. */
  readonly repeats_id: string | null;
  readonly promoted_by_type: Principal["type"];
  /** The e-mail address of a user or the name of a key; null once the user or key is deleted. */
  readonly promoted_by_name: string | null;
}

export type NewPromotion = Omit<Promotion, "promoted_by_name" | "promoted_at"> & {
  readonly org_id: string;
  readonly previous_id: string | null;
};

/** An environment with its current promotion. */
export interface Environment {
  readonly name: string;
  /** Null if nothing was promoted to it yet. */
  readonly version: number | null;
  readonly requires_review: boolean;
  readonly revision: number;
  readonly promotion: Promotion | null;
}

const COLUMNS = `${ROW.select("m")}, ${nameOf("m.promoted_by", "m.org_id")} as promoted_by_name`;

/** The connections that a promotion replaces. Throws if there is no such promotion. */
export async function bindingsOf(db: Db, promotionId: string): Promise<Bindings> {
  const found = await db.value<Bindings>("select connections from promotions where promotion_id = $1::uuid", [
    promotionId,
  ]);
  if (found === null) throw new Error(`promotion ${promotionId} does not exist`);
  return found;
}

/** Stores the default environments of a locked project that has none in the table yet. */
export async function keepEnvironments(db: Db, project: Pick<Project, "project_id" | "org_id" | "published_version">) {
  await db.query(
    `insert into environments (project_id, name, org_id, place, version, revision)
      select $1::uuid, name, $2::uuid, place, case when name = $4 then $5::int end, 0
      from unnest($3::text[]) with ordinality as made (name, place)
      where not exists (select from environments where project_id = $1::uuid)`,
    [project.project_id, project.org_id, DEFAULT_ENVIRONMENTS, PRODUCTION, project.published_version],
  );
}

/** The environments of a project in their order; the default ones if none were stored. */
export async function listEnvironments(
  db: Db,
  { project_id, published_version }: Pick<Project, "project_id" | "published_version">,
): Promise<Environment[]> {
  const rows = await db.query<Omit<Environment, "promotion"> & { promotion_id: string | null }>(
    `select name, case when name = $2 then $3::int else version end as version, requires_review, revision, promotion_id
      from environments where org_id = current_org() and project_id = $1::uuid order by place, name`,
    [project_id, PRODUCTION, published_version],
  );
  if (rows.length === 0) {
    return DEFAULT_ENVIRONMENTS.map((name) => ({
      name,
      version: name === PRODUCTION ? published_version : null,
      requires_review: false,
      revision: 0,
      promotion: null,
    }));
  }
  const ids = rows.flatMap(({ promotion_id }) => promotion_id ?? []);
  const promotions = await db.query<Promotion>(
    `select ${COLUMNS} from promotions m where m.org_id = current_org() and m.promotion_id = any ($1::uuid[])`,
    [ids],
  );
  const byId = new Map(promotions.map((each) => [each.promotion_id, each]));
  return rows.map(({ promotion_id, ...row }) => ({ ...row, promotion: byId.get(promotion_id ?? "") ?? null }));
}

/** The names of the environments of these projects, by project. Locks them against renaming and deletion. */
export async function environmentsOf(
  db: Db,
  projectIds: readonly string[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const rows = await db.query<Pick<Environment, "name"> & { readonly project_id: string }>(
    `select project_id, name from environments where org_id = current_org() and project_id = any ($1::uuid[])
      order by project_id, name for key share`,
    [projectIds],
  );
  const namesIn = (id: string): string[] => rows.flatMap(({ project_id, name }) => (project_id === id ? [name] : []));
  return new Map(
    projectIds.map((id) => {
      const names = namesIn(id);
      return [id, names.length === 0 ? DEFAULT_ENVIRONMENTS : names];
    }),
  );
}

/** Adds an environment without a version, after the others. */
export async function insertEnvironment(db: Db, { project_id, org_id }: Project, name: string): Promise<void> {
  await db.query(
    `insert into environments (project_id, name, org_id, place)
      values ($1::uuid, $2::text, $3::uuid, (select coalesce(max(place), 0) + 1 from environments where project_id = $1::uuid))`,
    [project_id, name, org_id],
  );
}

const NEW = columns(`promotion_id uuid, org_id uuid, project_id uuid, environment text, version int, connections jsonb,
  notes text, kind text, previous_id uuid, previous_version int, repeats_id uuid, review_id uuid, promoted_by_type text,
  promoted_by uuid`);

/** Adds a promotion and points its environment to it. The transaction has locked the project. */
export async function insertPromotion(db: Db, promotion: NewPromotion): Promise<void> {
  await db.query(`insert into promotions ${NEW.into}`, NEW.values(promotion));
  await db.query(
    `update environments set promotion_id = $3::uuid, version = $4::int, bindings_id = case when $5::boolean then $3::uuid end,
        revision = revision + 1, updated_at = now()
      where org_id = current_org() and project_id = $1::uuid and name = $2::text`,
    [
      promotion.project_id,
      promotion.environment,
      promotion.promotion_id,
      promotion.version,
      Object.keys(promotion.connections).length > 0,
    ],
  );
}

export async function findPromotion(db: Db, projectId: string, promotionId: string): Promise<Promotion | null> {
  return db.first(
    `select ${COLUMNS} from promotions m where m.org_id = current_org() and m.project_id = $1::uuid and m.promotion_id = $2::uuid`,
    [projectId, promotionId],
  );
}

/** The newest promotion of an environment to another version or other connections than the current one; null if there is none. */
export async function findEarlierPromotion(db: Db, current: Promotion): Promise<Promotion | null> {
  return db.first(
    `select ${COLUMNS} from promotions m where m.org_id = current_org() and m.project_id = $1::uuid and m.environment = $2::text
      and m.promotion_id < $3::uuid and (m.version <> $4::int or m.connections <> $5::jsonb)
      order by m.promotion_id desc limit 1`,
    [
      current.project_id,
      current.environment,
      current.promotion_id,
      current.version,
      JSON.stringify(current.connections),
    ],
  );
}

export interface PromotionFilter {
  readonly environment?: string | undefined;
  readonly version?: number | undefined;
}

/** A page of a project's promotions, of one environment or version if these are given. */
export async function listPromotions(
  db: Db,
  projectId: string,
  { environment, version }: PromotionFilter,
  page: Keyset,
): Promise<Promotion[]> {
  const select = `select ${COLUMNS} from promotions m where m.org_id = current_org() and m.project_id = $1::uuid
    and ($2::text is null or m.environment = $2::text) and ($3::int is null or m.version = $3::int)`;
  return selectPage(db, page, "m.promotion_id", select, [projectId, environment ?? null, version ?? null]);
}

/** Changes whether promotions to an environment need a review. */
export async function setReviewRequired(db: Db, projectId: string, name: string, required: boolean): Promise<void> {
  await db.query(
    `update environments set requires_review = $3::boolean, revision = revision + 1, updated_at = now()
      where org_id = current_org() and project_id = $1::uuid and name = $2::text`,
    [projectId, name, required],
  );
}

/** The tables that name an environment of a project. Runs keep the name that it had when they started. */
const NAMED_IN = ["promotions", "environment_reviews", "triggers", "eval_monitors", "pages"];

/** Renames an environment everywhere but in runs. */
export async function renameEnvironment(db: Db, projectId: string, name: string, after: string): Promise<void> {
  const values = [projectId, name, after];
  await db.query(
    `update environments set name = $3::text, revision = revision + 1, updated_at = now()
      where org_id = current_org() and project_id = $1::uuid and name = $2::text`,
    values,
  );
  for (const table of NAMED_IN) {
    await db.query(
      `update ${table} set environment = $3::text where org_id = current_org() and project_id = $1::uuid and environment = $2::text`,
      values,
    );
  }
}

/** How many triggers, monitors and published pages belong to an environment. */
export async function usersOfEnvironment(
  db: Db,
  projectId: string,
  name: string,
): Promise<{ readonly triggers: number; readonly monitors: number; readonly pages: number }> {
  const count = (
    table: string,
    ended: string,
  ): string => `(select count(*)::int from ${table} where org_id = current_org()
    and project_id = $1::uuid and environment = $2::text and ${ended} is null)`;
  return db.one(
    `select ${count("triggers", "deleted_at")} as triggers, ${count("eval_monitors", "deleted_at")} as monitors,
      ${count("pages", "revoked_at")} as pages`,
    [projectId, name],
  );
}

/** Deletes an environment and closes its open reviews. Its promotions stay, because runs refer to them. */
export async function deleteEnvironment(db: Db, projectId: string, name: string): Promise<void> {
  await db.query(
    `with closed as (
        update environment_reviews set state = 'withdrawn', decided_at = now(), reason = 'The environment was deleted.'
        where org_id = current_org() and project_id = $1::uuid and environment = $2::text and state = 'open')
      delete from environments where org_id = current_org() and project_id = $1::uuid and name = $2::text`,
    [projectId, name],
  );
}
