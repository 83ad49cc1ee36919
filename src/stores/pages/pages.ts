import type { PageKind, PageLook, PageRates, PageStatus } from "../../domain/pages/page.ts";
import { jsonb } from "../jsonb.ts";
import { keysetSql } from "../keyset.ts";
import type { Keyset } from "../keyset.ts";
import type { Db } from "../db.ts";

/** A published page. */
export interface PageRow {
  readonly page_id: string;
  readonly org_id: string;
  readonly project_id: string;
  readonly kind: PageKind;
  readonly environment: string;
  /** The sealed token of the page's URL. */
  readonly token: Buffer;
  readonly look: PageLook;
  readonly origins: readonly string[];
  readonly expires_at: string | null;
  readonly password_hash: string | null;
  readonly visitors_since: string;
  readonly rate_limits: PageRates;
  readonly visitor_pauses: readonly string[];
  readonly revision: number;
  readonly created_by: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly revoked_at: string | null;
}

export type NewPage = Omit<PageRow, "visitors_since" | "revision" | "created_at" | "updated_at" | "revoked_at"> & {
  readonly token_hash: Buffer;
};

/** The fields of a page that can be changed. */
export type PageFields = Pick<
  PageRow,
  "environment" | "look" | "origins" | "expires_at" | "password_hash" | "rate_limits" | "visitor_pauses"
>;

const COLUMNS = `page_id, org_id, project_id, kind, environment, token, look, origins, expires_at, password_hash, visitors_since,
  rate_limits, visitor_pauses, revision, created_by, created_at, updated_at, revoked_at`;
const OF_PROJECT = "org_id = current_org() and project_id = $1::uuid";

/** Conditions of the statuses; no page has two. */
const WITH_STATUS: Readonly<Record<PageStatus, string>> = {
  active: "revoked_at is null and (expires_at is null or expires_at > now())",
  expired: "revoked_at is null and expires_at <= now()",
  revoked: "revoked_at is not null",
};

/** Inserts a page unless its ID exists: the same request, repeated. */
export async function insertPage(db: Db, page: NewPage): Promise<void> {
  await db.query(
    `insert into pages (page_id, org_id, project_id, kind, environment, token_hash, token, look, origins, expires_at, password_hash,
        rate_limits, visitor_pauses, created_by)
      values ($1::uuid, $2::uuid, $3::uuid, $4::text, $5::text, $6::bytea, $7::bytea, $8::jsonb, $9::text[], $10::timestamptz, $11::text,
        $12::jsonb, $13::text[], $14::uuid)
      on conflict (page_id) do nothing`,
    [
      page.page_id,
      page.org_id,
      page.project_id,
      page.kind,
      page.environment,
      page.token_hash,
      page.token,
      jsonb(page.look),
      page.origins,
      page.expires_at,
      page.password_hash,
      jsonb(page.rate_limits),
      page.visitor_pauses,
      page.created_by,
    ],
  );
}

export async function findPage(db: Db, projectId: string, pageId: string): Promise<PageRow | null> {
  return db.first<PageRow>(`select ${COLUMNS} from pages where ${OF_PROJECT} and page_id = $2::uuid`, [
    projectId,
    pageId,
  ]);
}

/** The page, locked until the transaction ends. */
export async function lockPage(db: Db, projectId: string, pageId: string): Promise<PageRow | null> {
  return db.first<PageRow>(
    `select ${COLUMNS} from pages where ${OF_PROJECT} and page_id = $2::uuid for no key update`,
    [projectId, pageId],
  );
}

/** The page with this token in any organisation, unless its project was deleted. For the public door only. */
export async function findPageByToken(db: Db, hash: Buffer): Promise<PageRow | null> {
  return db.first<PageRow>(
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
  const { bound, compare, order } = keysetSql(page);
  return db.query<PageRow>(
    `select ${COLUMNS} from pages where ${OF_PROJECT} and page_id ${compare} $2::uuid
      ${status === undefined ? "" : `and ${WITH_STATUS[status]}`} order by page_id ${order} limit $3::int`,
    [projectId, bound, page.limit],
  );
}

/** How many pages of a project are not revoked. */
export async function countOpenPages(db: Db, projectId: string): Promise<number> {
  const open = await db.value<number>(
    `select count(*)::int as open from pages where ${OF_PROJECT} and revoked_at is null`,
    [projectId],
  );
  return open ?? 0;
}

/** Writes the fields of a locked page. With another password, or none, its visitors have to come anew. */
export async function updatePage(
  db: Db,
  pageId: string,
  fields: PageFields,
  newPassword: boolean,
): Promise<PageRow | null> {
  return db.first<PageRow>(
    `update pages set environment = $2::text, look = $3::jsonb, origins = $4::text[], expires_at = $5::timestamptz,
        password_hash = $6::text, rate_limits = $7::jsonb, visitor_pauses = $8::text[],
        visitors_since = case when $9::boolean then clock_timestamp() else visitors_since end,
        revision = revision + 1, updated_at = now()
      where org_id = current_org() and page_id = $1::uuid returning ${COLUMNS}`,
    [
      pageId,
      fields.environment,
      jsonb(fields.look),
      fields.origins,
      fields.expires_at,
      fields.password_hash,
      jsonb(fields.rate_limits),
      fields.visitor_pauses,
      newPassword,
    ],
  );
}

/** Revokes a page; null if there is none, or it is revoked already. */
export async function revokePage(db: Db, projectId: string, pageId: string): Promise<PageRow | null> {
  return db.first<PageRow>(
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
