import type { Principal } from "../../domain/accounts/principal.ts";
import type { JsonObject } from "../../domain/json.ts";
import { columns, type RowOf } from "../columns.ts";
import type { Db } from "../db.ts";
import { nameOf } from "./author-names.ts";
import { numberKeysetSql, selectPage, type Keyset } from "../keyset.ts";

const NEW = columns(`project_id uuid, revision int, org_id uuid, flow json, published_as int null, changed_by_type text,
  changed_by uuid`);
const ROW = columns(`project_id uuid, revision int, changed_by_type text, changed_by uuid, changed_at timestamptz,
  published_as int null`);

/** A step in the history of a project's draft, without its flow. */
export interface DraftStepHead extends RowOf<typeof ROW> {
  readonly changed_by_type: Principal["type"];
  /** The e-mail address of a user or the name of a key; null once the user or key is deleted. */
  readonly changed_by_name: string | null;
  /** The version that the draft was published as in this step. */
  readonly published_as: number | null;
  /** Whether this step ended the draft. */
  readonly ended: boolean;
}

export interface DraftStep extends DraftStepHead {
  /** `null` if `ended`. */
  readonly flow: JsonObject | null;
}

export interface NewDraftStep extends Pick<
  DraftStep,
  "project_id" | "revision" | "flow" | "changed_by_type" | "changed_by"
> {
  readonly org_id: string;
  readonly published_as?: number;
}

const HEAD = `${ROW.select("s")}, s.flow is null as ended, ${nameOf("s.changed_by", "s.org_id")} as changed_by_name`;
const OF_PROJECT = `from draft_steps s join projects p using (project_id)
  where s.org_id = current_org() and p.deleted_at is null and s.project_id = $1::uuid`;

/** The newest step of a project: its draft, or that the draft ended. Null if there never was a draft. */
export async function latestDraftStep(db: Db, projectId: string): Promise<DraftStep | null> {
  return db.first(`select ${HEAD}, s.flow ${OF_PROJECT} order by s.revision desc limit 1`, [projectId]);
}

/** A step, unless it has been purged. */
export async function findDraftStep(db: Db, projectId: string, revision: number): Promise<DraftStep | null> {
  return db.first(`select ${HEAD}, s.flow ${OF_PROJECT} and s.revision = $2::int`, [projectId, revision]);
}

/** Adds the next step. The transaction has locked the project. */
export async function insertDraftStep(db: Db, step: NewDraftStep): Promise<void> {
  await db.query(`insert into draft_steps ${NEW.into}`, NEW.values({ published_as: null, ...step }));
}

/** A page of a draft's steps; `beyond` is a revision. */
export async function listDraftSteps(db: Db, projectId: string, page: Keyset): Promise<DraftStepHead[]> {
  const select = `select ${HEAD} ${OF_PROJECT}`;
  return selectPage(db, page, "s.revision", select, [projectId], numberKeysetSql);
}

export async function deleteDraftSteps(db: Db, projectId: string): Promise<void> {
  await db.query("delete from draft_steps where org_id = current_org() and project_id = $1::uuid", [projectId]);
}

/**
 * Removes up to `limit` steps that are older than a day, or older than ten minutes and replaced by the same author within the same minute,
 * because an editor saves every few seconds. The newest step of a project stays. System only.
 */
export async function purgeDraftSteps(db: Db, limit: number): Promise<number> {
  return db.count(
    `delete from draft_steps where (project_id, revision) in (
        select s.project_id, s.revision from draft_steps s
        where s.changed_at < now() - interval '10 minutes'
          and exists (select from draft_steps later where later.project_id = s.project_id and later.revision > s.revision)
          and (s.changed_at < now() - interval '1 day' or exists (
            select from draft_steps later
            where later.project_id = s.project_id and later.revision = (
                select min(next.revision) from draft_steps next
                where next.project_id = s.project_id and next.revision > s.revision)
              and later.changed_by = s.changed_by
              and date_trunc('minute', later.changed_at) = date_trunc('minute', s.changed_at)))
        order by s.changed_at limit $1::int for update skip locked)`,
    [limit],
  );
}
