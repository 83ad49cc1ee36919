import { z } from "zod";
import { PAGE_KINDS, PAGE_STATUSES, pageStatus } from "../../domain/pages/page.ts";
import type { PageRow } from "../../stores/pages/pages.ts";
import { asDeclared } from "../http/as-declared.ts";

const lookSchema = z
  .object({
    name: z.string(),
    colour: z.string().nullable().describe("Colour of buttons and links, such as `#1f6feb`."),
    welcome: z.string().nullable().describe("Text shown before the first question."),
  })
  .meta({ id: "PageLook" });

const ratesSchema = z.object({ page: z.int(), visitor: z.int(), network: z.int() }).meta({ id: "PageRates" });

/** A published page as members of the organisation see it. */
export const pageSchema = z
  .object({
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
  })
  .meta({ id: "Page" });
export type PageView = z.infer<typeof pageSchema>;

/** `url` is the page's address. */
export function presentPage(page: PageRow, url: string): PageView {
  const status = pageStatus(page, Date.now());
  return asDeclared(pageSchema, { ...page, url, status, has_password: page.password_hash !== null });
}
