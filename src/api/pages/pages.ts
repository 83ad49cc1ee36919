import { z } from "zod";
import { hasExpired, pagePassword } from "../../domain/accounts/accounts.ts";
import { invalid, required } from "../../domain/errors.ts";
import { PAGE_KINDS, PAGE_STATUSES, pageLook, pageOrigin, pageRates, pageStatus } from "../../domain/pages/page.ts";
import { ENVIRONMENT_NAME, PRODUCTION } from "../../domain/projects/environments.ts";
import { patchOf, patched } from "../../domain/patch.ts";
import { timeText } from "../../domain/timestamps.ts";
import { hashPassword } from "../../platform/secrets/crypto.ts";
import { stated } from "../../services/change.ts";
import { changePage, createPage, createPageFlows, pagePath, revokePage } from "../../services/pages/pages.ts";
import { requireProject } from "../../services/projects/projects.ts";
import { findPage, listPages, type PageRow } from "../../stores/pages/pages.ts";
import type { HandlerDeps } from "../deps.ts";
import { baseUrl } from "../http/addresses.ts";
import { ETAG, asCreated, ifMatchHeaders, matchesRevision, revisionTag, tagged } from "../http/etag.ts";
import { listPage, listQuery, pageOf } from "../http/list.ts";
import { created, operationsOf, linkTo, type RequestContext } from "../http/operation.ts";
import { asDeclared, named, namedStrict, pathId } from "../http/schemas.ts";

const lookSchema = named("PageLook", {
  name: z.string(),
  colour: z.string().nullable().describe("Colour of buttons and links, such as `#1f6feb`."),
  welcome: z.string().nullable().describe("Text shown before the first question."),
});

const ratesSchema = named("PageRates", { page: z.int(), visitor: z.int(), network: z.int() });

/** A published page as members of the organisation see it. */
const pageSchema = named("Page", {
  page_id: z.uuid(),
  project_id: z.uuid(),
  kind: z.enum(PAGE_KINDS),
  environment: z.string().describe("The environment whose version the page runs."),
  url: z
    .string()
    .describe(
      "Anyone who has this URL can use the page, if it has no password. Empty if it was encrypted with a master key that is no longer configured.",
    ),
  status: z.enum(PAGE_STATUSES),
  look: lookSchema,
  origins: z.array(z.string()).describe("Web origins that may show the page in a frame and call it."),
  expires_at: z.iso.datetime().nullable(),
  has_password: z.boolean(),
  rate_limits: ratesSchema.describe("Runs and uploads per minute."),
  visitor_pauses: z
    .array(z.string())
    .describe("Paths of the pauses that visitors can answer, as in the flow's `io-schema`."),
  created_by: z.uuid().describe("ID of the user or key that created the page."),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
  revoked_at: z.iso.datetime().nullable(),
});

export type PageView = z.infer<typeof pageSchema>;

/** `url` is the page's address. */
function presentPage(page: PageRow, url: string): PageView {
  const status = pageStatus(page, Date.now());
  return asDeclared(pageSchema, { ...page, url, status, has_password: page.password_hash !== null });
}

const PATH = "/v2/projects/{project_id}/pages";
const projectParams = z.object({ project_id: pathId("project") });
const params = projectParams.extend({ page_id: pathId("page") });
const MOST_ORIGINS = 50;
const MOST_PAUSES = 100;

const environment = z.string().regex(ENVIRONMENT_NAME).describe("The environment whose version the page runs.");
const origins = z
  .array(pageOrigin)
  .max(MOST_ORIGINS)
  .describe("Web origins whose pages may show this page in a frame, and call it from a script. Others cannot.");
const expires_at = timeText.nullable().describe("Time at which the page closes. `null`: never.");
const password = pagePassword.describe("8 characters or more. Visitors enter it once for each browser.");
const visitor_pauses = z
  .array(z.string().min(1).max(500))
  .max(MOST_PAUSES)
  .describe(
    "Paths of the pauses that visitors may answer, as in the flow's `io-schema`. All other pauses wait for people of the organisation.",
  );

const createBody = namedStrict("PageCreate", {
  kind: z.enum(PAGE_KINDS).describe("`form`: inputs and outputs of one run. `chat`: a conversation."),
  environment: environment.default(PRODUCTION),
  look: pageLook.partial().prefault({}).describe("How the page looks. `name` is the project's name by default."),
  origins: origins.default([]),
  expires_at: expires_at.default(null),
  password: password.optional(),
  rate_limits: pageRates.prefault({}).describe("Runs and uploads per minute; more return 429."),
  visitor_pauses: visitor_pauses.default([]),
});

const changeBody = namedStrict("PageChange", {
  environment: environment.optional(),
  look: patchOf(pageLook).optional(),
  origins: origins.optional(),
  expires_at: expires_at.optional(),
  password: password
    .nullable()
    .optional()
    .describe("A new password, or `null` for none. Every visitor then has to come in again."),
  rate_limits: patchOf(pageRates).optional(),
  visitor_pauses: visitor_pauses.optional(),
});

function requireFuture(time: string | null | undefined): void {
  if (time != null && hasExpired(time)) throw invalid(["body", "expires_at"], "Must be in the future");
}

/** The URL is not recorded: the log has more readers than the page. */
const recorded = (page: PageRow) => ({ ...presentPage(page, ""), url: undefined });

const viewIn =
  ({ secrets, config }: HandlerDeps, ctx: RequestContext) =>
  (page: PageRow): ReturnType<typeof presentPage> => {
    const path = pagePath(secrets, page);
    return presentPage(page, path === null ? "" : baseUrl(config, ctx) + path);
  };
const toResponse = (deps: HandlerDeps, ctx: RequestContext, page: PageRow) =>
  tagged(viewIn(deps, ctx)(page), revisionTag(page.revision));
const hashed = ({ passwords }: HandlerDeps, orgId: string, text: string) =>
  passwords.take(orgId, () => hashPassword(text));

const define = operationsOf({ tag: "Pages", auth: "secret" }, ({ db, flows, maxInputBytes, secrets, pages: door }) => ({
  services: { db, secrets, door, flowOf: createPageFlows(db, flows, maxInputBytes) },
}));

/** `/v2/projects/{project_id}/pages`: pages for people without an account. */
export const pageOperations = [
  define({
    id: "createPage",
    route: `POST ${PATH}`,
    role: "admin",
    summary: "Publish a page",
    description: `Publishes a page at an unguessable URL, on which people without an account run the flow: as a form, or as a chat. The page runs the version of its environment, never a draft, and reaches nothing but this flow. Every visitor sees only their own runs, conversations and documents.

A chat needs a flow with one text input and one output (other inputs need defaults); otherwise the response is 422.`,
    params: projectParams,
    body: createBody,
    idempotent: true,
    confidential: true,
    examples: {
      form: { kind: "form" },
      chat: {
        kind: "chat",
        look: { name: "Ask our handbook", colour: "#1f6feb", welcome: "What would you like to know?" },
        origins: ["https://shop.example"],
        rate_limits: { visitor: 5 },
      },
      closed: { kind: "form", password: "tulip-and-harbour", expires_at: "2030-01-01T00:00:00Z" },
    },
    problems: ["environment_not_found", "environment_empty", "conflict"],
    success: {
      201: created(
        "The page.",
        pageSchema,
        {
          get: linkTo("getPage", ["project_id", "page_id"]),
          revoke: linkTo("revokePage", ["project_id", "page_id"]),
        },
        ETAG,
      ),
    },
    async handler({ params: { project_id }, body, principal: { org_id, id }, newId, requireHeld, audit, ctx }, deps) {
      requireFuture(body.expires_at);
      const project = await requireProject(deps.db, org_id, project_id, "project");
      const { password: text, look, ...fields } = body;
      const page_id = newId();
      const page = {
        ...fields,
        page_id,
        org_id,
        project_id,
        look: pageLook.parse({ name: project.name.slice(0, 100), ...look }),
        password_hash: text === undefined ? null : await hashed(deps, org_id, text),
        created_by: id,
      };
      const audited = {
        audit,
        target: { type: "page", id: page_id },
        view: recorded,
        secrets: text === undefined ? [] : ["password"],
      };
      const created = await createPage(deps.services, page, requireHeld, audited);
      return asCreated(toResponse(deps, ctx, created), `/v2/projects/${project_id}/pages/${page_id}`);
    },
  }),
  define({
    id: "listPages",
    route: `GET ${PATH}`,
    summary: "List a project's pages",
    description: "Lists the published pages of a project, newest first, revoked ones too.",
    params: projectParams,
    query: listQuery.extend({ status: z.enum(PAGE_STATUSES).optional() }),
    success: { 200: { description: "A page of pages.", schema: pageOf(pageSchema, "PageList") } },
    async handler({ params: { project_id }, query, principal: { org_id }, ctx }, deps) {
      await requireProject(deps.db, org_id, project_id, "project");
      return listPage("pages", org_id, query, {
        filters: { project_id, status: query.status },
        fetch: (keyset) =>
          deps.reads.org(org_id, (connection) => listPages(connection, project_id, query.status, keyset)),
        idOf: ({ page_id }) => page_id,
        present: viewIn(deps, ctx),
      });
    },
  }),
  define({
    id: "getPage",
    route: `GET ${PATH}/{page_id}`,
    summary: "Get a page",
    description: "Returns a published page with its URL.",
    params,
    success: { 200: { description: "The page.", schema: pageSchema, headers: ETAG } },
    async handler({ params: { project_id, page_id }, principal: { org_id }, ctx }, deps) {
      const found = await deps.db.org(org_id, (connection) => findPage(connection, project_id, page_id));
      return toResponse(deps, ctx, required(found, "page"));
    },
  }),
  define({
    id: "changePage",
    route: `PATCH ${PATH}/{page_id}`,
    role: "admin",
    summary: "Change a page",
    description:
      "Changes a published page. Omitted fields keep their values. Every process applies the change within 5 seconds. Returns 409 for a revoked page.",
    params,
    headers: ifMatchHeaders,
    body: changeBody,
    examples: {
      look: { look: { colour: "#0a7d33" } },
      end: { expires_at: "2030-01-01T00:00:00Z" },
      open: { password: null },
    },
    problems: ["environment_not_found", "environment_empty", "conflict"],
    success: { 200: { description: "The updated page.", schema: pageSchema, headers: ETAG } },
    async handler({ params: { project_id, page_id }, headers, body, principal: { org_id }, audit, ctx }, deps) {
      requireFuture(body.expires_at);
      const { password: text, look, rate_limits, ...fields } = body;
      const password_hash = text == null ? text : await hashed(deps, org_id, text);
      const changed = await changePage(
        deps.services,
        { org_id, project_id, page_id },
        (page) =>
          stated({
            ...fields,
            password_hash,
            look: look && patched(pageLook, "look", page.look, look),
            rate_limits: rate_limits && patched(pageRates, "rate_limits", page.rate_limits, rate_limits),
          }),
        matchesRevision(headers),
        {
          audit,
          target: { type: "page", id: page_id },
          view: recorded,
          secrets: text === undefined ? [] : ["password"],
        },
      );
      return toResponse(deps, ctx, changed);
    },
  }),
  define({
    id: "revokePage",
    route: `DELETE ${PATH}/{page_id}`,
    role: "admin",
    summary: "Revoke a page",
    description:
      "Revokes a page permanently. Within 5 seconds its URL returns 410 and its open streams end. Its runs stay, and the page stays in the list.",
    params,
    success: { 204: { description: "Revoked." } },
    async handler({ params: { project_id, page_id }, principal: { org_id }, audit }, { db, pages: door }) {
      const audited = { audit, target: { type: "page", id: page_id }, view: recorded };
      await revokePage({ db, door }, { org_id, project_id, page_id }, audited);
    },
  }),
];
