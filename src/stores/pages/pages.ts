import type { PageKind, PageLook, PageRates, PageStatus } from "../../domain/pages/page.ts";
import { columns, type NameOf, type RowOf } from "../columns.ts";
import { selectPage, type Keyset } from "../keyset.ts";
import type { Db } from "../db.ts";

const ROW = columns(`page_id uuid, org_id uuid, project_id uuid, kind text, environment text, token bytea, look jsonb,
  origins text[], expires_at timestamptz null, password_hash text null, visitors_since timestamptz, rate_limits jsonb,
  visitor_pauses text[], revision int, created_by uuid, created_at timestamptz, updated_at timestamptz,
  revoked_at timestamptz null`);

/** A published page. */
export interface PageRow extends RowOf<typeof ROW> {
  readonly kind: PageKind;
  /** The sealed token of the page's URL. */
  readonly token: Buffer;
  readonly look: PageLook;
  readonly rate_limits: PageRates;
}

const CHANGEABLE =
  "environment text, look jsonb, origins text[], expires_at timestamptz, password_hash text, rate_limits jsonb, visitor_pauses text[]";
const FIELDS = columns(CHANGEABLE);
const NEW = columns(`page_id uuid, org_id uuid, project_id uuid, kind text, token_hash bytea, token bytea,
  created_by uuid, ${CHANGEABLE}`);

export type NewPage = Omit<PageRow, "visitors_since" | "revision" | "created_at" | "updated_at" | "revoked_at"> & {
  readonly token_hash: Buffer;
};

/** The fields of a page that can be changed. */
export type PageFields = Pick<PageRow, NameOf<typeof FIELDS>>;

const COLUMNS = ROW.select();
const OF_PROJECT = "org_id = current_org() and project_id = $1::uuid";

/** Conditions of the statuses; no page has two. */
const WITH_STATUS: Readonly<Record<PageStatus, string>> = {
  active: "revoked_at is null and (expires_at is null or expires_at > now())",
  expired: "revoked_at is null and expires_at <= now()",
  revoked: "revoked_at is not null",
};

/** Inserts a page unless its ID exists: the same request, repeated. */
export async function insertPage(db: Db, page: NewPage): Promise<void> {
  await db.query(`insert into pages ${NEW.into} on conflict (page_id) do nothing`, NEW.values(page));
}

export async function findPage(db: Db, projectId: string, pageId: string): Promise<PageRow | null> {
  return db.first(`select ${COLUMNS} from pages where ${OF_PROJECT} and page_id = $2::uuid`, [projectId, pageId]);
}

/** The page, locked until the transaction ends. */
export async function lockPage(db: Db, projectId: string, pageId: string): Promise<PageRow | null> {
  return db.first(`select ${COLUMNS} from pages where ${OF_PROJECT} and page_id = $2::uuid for no key update`, [
    projectId,
    pageId,
  ]);
}

/** The page with this token in any organisation, unless its project was deleted. For the public door only. */
export async function findPageByToken(db: Db, hash: Buffer): Promise<PageRow | null> {
  return db.first(
    `select ${COLUMNS} from pages where token_hash = $1::bytea
      and exists (select from projects p where p.project_id = pages.project_id and p.deleted_at is null)`,
    [hash],
  );
}

export async function listPages(
  db: Db,
  projectId: string,
  status: PageStatus | undefined,
  page: Keyset,
): Promise<PageRow[]> {
  const withStatus = status === undefined ? "" : `and ${WITH_STATUS[status]}`;
  const select = `select ${COLUMNS} from pages where ${OF_PROJECT} ${withStatus}`;
  return selectPage(db, page, "page_id", select, [projectId]);
}

/** How many pages of a project are not revoked. */
export async function countOpenPages(db: Db, projectId: string): Promise<number> {
  return db.number(`select count(*)::int as open from pages where ${OF_PROJECT} and revoked_at is null`, [projectId]);
}

/** Writes the fields of a locked page. With another password, or none, its visitors have to come anew. */
export async function updatePage(
  db: Db,
  pageId: string,
  fields: PageFields,
  newPassword: boolean,
): Promise<PageRow | null> {
  return db.first(
    `update pages set ${FIELDS.set(2)}, visitors_since = case when $9::boolean then clock_timestamp() else visitors_since end,
        revision = revision + 1, updated_at = now()
      where org_id = current_org() and page_id = $1::uuid returning ${COLUMNS}`,
    [pageId, ...FIELDS.values(fields), newPassword],
  );
}

/** Revokes a page; null if there is none, or it is revoked already. */
export async function revokePage(db: Db, projectId: string, pageId: string): Promise<PageRow | null> {
  return db.first(
    `update pages set revoked_at = now(), revision = revision + 1, updated_at = now()
      where ${OF_PROJECT} and page_id = $2::uuid and revoked_at is null returning ${COLUMNS}`,
    [projectId, pageId],
  );
}

/** Revokes every page of a project. */
export async function revokePagesOf(db: Db, projectId: string): Promise<void> {
  await db.query(
    `update pages set revoked_at = now(), revision = revision + 1, updated_at = now() where ${OF_PROJECT} and revoked_at is null`,
    [projectId],
  );
}
