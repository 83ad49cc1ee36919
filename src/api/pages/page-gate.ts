import { z } from "zod";
import { chatEnds, type ChatEnds } from "../../domain/pages/chat-ends.ts";
import { PAGE_KINDS, TITLE_CHARS } from "../../domain/pages/page.ts";
import { createPageFlows, flowForVisitor } from "../../services/pages/pages.ts";
import type { PageRow } from "../../stores/pages/pages.ts";
import { uploadNodes, uploadRules } from "../documents/receive-upload.ts";
import { operationsOf } from "../http/operation.ts";
import { named, namedStrict } from "../http/schemas.ts";
import { admitAnyone, arrivalOf, PAGE_PROBLEMS, pageToken } from "./admission.ts";

const jsonSchema = z.record(z.string(), z.unknown());

const publicPageSchema = named("PublicPage", {
  kind: z.enum(PAGE_KINDS),
  look: z.object({ name: z.string(), colour: z.string().nullable(), welcome: z.string().nullable() }),
  needs_password: z
    .boolean()
    .describe("Whether the visitor has to enter the password first. Then the fields below are `null`."),
  inputs: jsonSchema.nullable().describe("JSON Schema 2020-12 of a run's inputs, keyed by node ID."),
  outputs: jsonSchema.nullable().describe("JSON Schema 2020-12 of a run's outputs, keyed by node ID."),
  chat: z
    .object({ input: z.string(), output: z.string() })
    .nullable()
    .describe("IDs of the input that takes a chat's messages and of the output that answers them; `null` for a form."),
  documents: z
    .array(
      z.object({
        node_id: z.string(),
        title: z.string().nullable(),
        kind: z.enum(["files", "audio", "image"]),
        accept: z.array(z.string()).nullable().describe("Media types; `null` means every type that can be read."),
        max_bytes: z.int(),
      }),
    )
    .nullable()
    .describe("Nodes that take uploads."),
  limits: z.object({ run_body_bytes: z.int(), input_bytes: z.int(), title_chars: z.int() }).nullable(),
});
type PublicPage = z.infer<typeof publicPageSchema>;

const enterBody = namedStrict("PageEntry", {
  password: z.string().max(1000).optional().describe("Required if the page has a password."),
});

const define = operationsOf({ tag: "Pages", auth: "none", audit: "run", admit: admitAnyone }, (deps) => {
  const { config, db, flows, maxInputBytes } = deps;
  const flowOf = createPageFlows(db, flows, maxInputBytes);

  async function show(page: PageRow): Promise<Omit<PublicPage, "kind" | "look" | "needs_password">> {
    const { plan } = await flowForVisitor(flows, page);
    const io = await flowOf(page);
    const ends = page.kind === "chat" ? chatEnds(io) : null;
    const documents = uploadNodes(plan).map((node) => {
      const rules = uploadRules(config, node);
      const accept = rules.media?.types ?? rules.accept;
      return {
        node_id: node.id,
        title: node.name ?? null,
        kind: node.type,
        accept: accept === undefined ? null : [...accept],
        max_bytes: rules.maxBytes,
      };
    });
    const limits = {
      run_body_bytes: config.MILLRACE_JSON_LIMIT_BYTES,
      input_bytes: maxInputBytes,
      title_chars: TITLE_CHARS,
    };
    return { inputs: io.inputs, outputs: io.outputs, chat: endsOf(ends), documents, limits };
  }

  return { show };
});

/** `/f/{token}/page` and `/f/{token}/visitors`: what a page shows, and how a browser gets its handle. */
export const pageGateOperations = [
  define({
    id: "showPage",
    route: "GET /f/{token}/page",
    summary: "Get what a page shows",
    description:
      "Returns what a published page shows. Needs no credential; if the page has a password, everything but its look needs the handle of a visitor.",
    visitor: "optional",
    params: pageToken,
    problems: PAGE_PROBLEMS,
    success: { 200: { description: "The page.", schema: publicPageSchema } },
    async handler({ ctx }, { show }) {
      const { page, visitor } = arrivalOf(ctx);
      const { name, colour, welcome } = page.look;
      const needs_password = page.password_hash !== null && visitor === null;
      const head = { kind: page.kind, look: { name, colour, welcome }, needs_password };
      const nothing = { inputs: null, outputs: null, chat: null, documents: null, limits: null };
      return { status: 200, body: { ...head, ...(needs_password ? nothing : await show(page)) } };
    },
  }),
  define({
    id: "enterPage",
    route: "POST /f/{token}/visitors",
    summary: "Create a visitor of a page",
    description:
      "Returns a new handle, by which the page knows a browser: send it as `Authorization: Bearer <handle>`. Keep it in the browser. Anyone who has it sees what this visitor has written. It expires when it has not been used for 90 days, when the page's password changes, and with the page. A wrong password returns 401.",
    params: pageToken,
    body: enterBody.prefault({}),
    examples: { open: {}, closed: { password: "tulip-and-harbour" } },
    problems: PAGE_PROBLEMS,
    success: {
      201: {
        description: "The handle.",
        schema: named("PageVisitor", {
          visitor: z.string().describe("The handle: a secret of this browser."),
          expires_at: z.iso.datetime().describe("When it expires unless it is used."),
        }),
      },
    },
    async handler({ body: { password }, ctx }, { pages }) {
      const { page, network } = arrivalOf(ctx);
      return { status: 201, body: await pages.enter(page, password, network) };
    },
  }),
];

/** A version that no longer fits a chat has no ends: the page then says that it does not work. */
function endsOf(ends: ReturnType<typeof chatEnds> | null): ChatEnds | null {
  return ends === null || "fault" in ends ? null : { input: ends.input, output: ends.output };
}
