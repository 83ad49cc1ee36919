import { LRUCache } from "lru-cache";
import { Problem, conflict, invalid, notFound, required } from "../../domain/errors.ts";
import { describeFlow, type FlowIo } from "../../domain/flow/io/io-schema.ts";
import { chatEnds } from "../../domain/pages/chat-ends.ts";
import type { PageKind } from "../../domain/pages/page.ts";
import { unlessBroken, type SecretBox } from "../../platform/secrets/seal.ts";
import type { Database, Db } from "../../stores/db.ts";
import * as pages from "../../stores/pages/pages.ts";
import type { PageFields, PageRow } from "../../stores/pages/pages.ts";
import { findFlowVersion } from "../../stores/projects/flow-versions.ts";
import { recordCreated, recordDeleted, type RowAudit } from "../audit/audit.ts";
import { changeChecked } from "../change.ts";
import type { DeployedFlow, FlowCache } from "../projects/flow-cache.ts";
import { existsProject } from "../projects/projects.ts";
import { newPageToken, type PageDoor } from "./page-door.ts";
import type { Parts } from "../parts.ts";

/** Most pages of a project that are not revoked. */
const MAX_PAGES = 100;

/** Visitors ask every few seconds what a page shows. */
const MAX_DESCRIBED = 200;

export interface PageDeps extends Parts<"db" | "secrets"> {
  readonly door: PageDoor;
  readonly flowOf: PageFlows;
}

/** Binds a token to its page: it cannot be opened for another one. */
const tokenContext = (pageId: string): string => `pages/${pageId}/token`;

/** The path of a page's URL; null if the master key that sealed it is not configured. */
export function pagePath(secrets: SecretBox, { page_id, token }: Pick<PageRow, "page_id" | "token">): string | null {
  const opened = unlessBroken(() => secrets.open(token, tokenContext(page_id)));
  return opened === undefined ? null : `/f/${opened}`;
}

type OfEnvironment = Pick<PageRow, "org_id" | "project_id" | "environment">;

/** The inputs, outputs and pauses of the flow that a page shows now. */
export type PageFlows = (of: OfEnvironment) => Promise<FlowIo>;

/** What a visitor of a page runs now. Throws 503 if the environment of the page has no version. */
export async function flowForVisitor(flows: FlowCache, of: OfEnvironment): Promise<DeployedFlow> {
  try {
    return await flows.get(of.org_id, of.project_id, -1, of.environment);
  } catch (error) {
    // Only members can do something about it.
    if (!(error instanceof Problem) || error.status >= 500) throw error;
    throw new Problem("service_unavailable", "This page is not ready yet. Try again later.", {
      headers: { "Retry-After": "60" },
    });
  }
}

/**
 * Describes the flows of pages, each version once. Throws 404 for an unknown environment, and 409 if the environment has no version.
 */
export function createPageFlows(db: Database, flows: FlowCache, maxInputBytes: number): PageFlows {
  const described = new LRUCache<string, FlowIo>({ max: MAX_DESCRIBED });
  return async ({ org_id, project_id, environment }) => {
    const { project, version } = await flows.get(org_id, project_id, -1, environment);
    const key = `${project_id}/${version}`;
    const known = described.get(key);
    if (known) return known;
    const found = await db.org(org_id, (connection) => findFlowVersion(connection, project_id, version));
    const { definition, content_hash } = required(found, "flow version");
    const identity = { project_id, name: project.name, version, content_hash };
    const io = describeFlow(definition, identity, { max_input_bytes: maxInputBytes });
    described.set(key, io);
    return io;
  };
}

/** Throws 422 if a page of this kind cannot show the flow, or visitors shall answer pauses that the flow does not have. */
function requireFitting(io: FlowIo, kind: PageKind, visitorPauses: readonly string[]): void {
  const ends = kind === "chat" ? chatEnds(io) : null;
  if (ends !== null && "fault" in ends) throw invalid(["body", "kind"], ends.fault);
  const known = io.pauses.map(({ path }) => path);
  const at = visitorPauses.findIndex((path) => !known.includes(path));
  if (at === -1) return;
  const choice = known.length === 0 ? "it has none" : `it has ${known.slice(0, 20).join(", ")}`;
  throw invalid(["body", "visitor_pauses", at], `The flow has no pause at this path; ${choice}`);
}

/** Creates a page. Throws 404 without a published version, 422 if the flow does not fit, and 409 beyond the limit of pages. */
export async function createPage(
  deps: PageDeps,
  page: Omit<pages.NewPage, "token" | "token_hash">,
  requireHeld: (db: Db) => Promise<void>,
  audited: RowAudit<PageRow>,
): Promise<PageRow> {
  const { db, secrets } = deps;
  const { org_id, project_id, page_id } = page;
  requireFitting(await deps.flowOf(page), page.kind, page.visitor_pauses);
  const { token, hash } = newPageToken();
  return db.orgTransaction(org_id, async (connection) => {
    await requireHeld(connection);
    if (!(await existsProject(connection, project_id))) throw notFound("project");
    if ((await pages.countOpenPages(connection, project_id)) >= MAX_PAGES)
      throw conflict(`The project has ${MAX_PAGES} pages, the maximum. Revoke one first.`);
    const sealed = secrets.seal(token, tokenContext(page_id));
    await pages.insertPage(connection, { ...page, token: sealed, token_hash: hash });
    const created = required(await pages.findPage(connection, project_id, page_id), "page");
    await recordCreated(connection, audited, created);
    return created;
  });
}

/** Changes a page. Throws 404, 412, and 409 if it is revoked. */
export async function changePage(
  deps: PageDeps,
  of: Pick<PageRow, "org_id" | "project_id" | "page_id">,
  change: (page: PageRow) => Partial<PageFields>,
  requireMatch: (page: PageRow) => void,
  audited: RowAudit<PageRow>,
): Promise<PageRow> {
  const { db, door } = deps;
  const { org_id, project_id, page_id } = of;
  const changed = await changeChecked(db, org_id, {
    read: async (connection, lock) =>
      required(await (lock ? pages.lockPage : pages.findPage)(connection, project_id, page_id), "page"),
    revisionOf: ({ revision }) => revision,
    requireMatch,
    async prepare(row) {
      if (row.revoked_at !== null) throw conflict("The page is revoked. Create another one.");
      const given = change(row);
      const next = { ...row, ...given };
      // What the flow has become since then is no fault of a change of the look.
      if (given.environment !== undefined || given.visitor_pauses !== undefined)
        requireFitting(await deps.flowOf(next), next.kind, next.visitor_pauses);
      return given;
    },
    async write(connection, row, given) {
      const newPassword = given.password_hash !== undefined;
      return required(await pages.updatePage(connection, page_id, { ...row, ...given }, newPassword), "page");
    },
    audited,
  });
  door.forget(page_id);
  return changed;
}

/** Revokes every page of a project that is being deleted. */
export { revokePagesOf } from "../../stores/pages/pages.ts";

/** Revokes a page permanently. Throws 404 if there is none that is not revoked. */
export async function revokePage(
  { db, door }: Pick<PageDeps, "db" | "door">,
  { org_id, project_id, page_id }: Pick<PageRow, "org_id" | "project_id" | "page_id">,
  audited: RowAudit<PageRow>,
): Promise<void> {
  await db.orgTransaction(org_id, async (connection) => {
    await recordDeleted(connection, audited, required(await pages.revokePage(connection, project_id, page_id), "page"));
  });
  door.forget(page_id);
}
