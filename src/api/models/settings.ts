import { z } from "zod";
import { changeSettings } from "../../services/models/settings.ts";
import { getSettings, type OrganisationSettings } from "../../stores/models/settings.ts";
import { ETAG, contentTag, ifMatchHeaders, requireMatch, tagged } from "../http/etag.ts";
import { operationsOf } from "../http/operation.ts";
import { givenId, named, namedStrict } from "../http/schemas.ts";

const settingsSchema = named("Settings", {
  default_connection_id: z
    .uuid()
    .nullable()
    .describe(
      "Connection for model nodes that name none. `null` means the installation's own endpoint, if it has one.",
    ),
  default_model: z.string().nullable().describe("Model for model nodes that name none; `null` if there is none."),
});

const changeBody = namedStrict("SettingsChange", {
  default_connection_id: givenId
    .nullable()
    .optional()
    .describe("Connection of provider `openai_compatible` or `anthropic`."),
  default_model: z
    .string()
    .trim()
    .min(1)
    .max(256)
    .nullable()
    .optional()
    .describe("Model name that the endpoint knows."),
});

const toResponse = ({ default_connection_id, default_model }: OrganisationSettings) => {
  const body = { default_connection_id, default_model };
  return tagged(body, contentTag(body));
};

const define = operationsOf({ tag: "Models", auth: "secret" });

/** `/v2/settings`: defaults for the organisation's model nodes. */
export const settingsOperations = [
  define({
    id: "getSettings",
    route: "GET /v2/settings",
    summary: "Get the organisation's settings",
    description: "Returns the default connection and model, which nodes use if they name none.",
    success: { 200: { description: "The settings.", schema: settingsSchema, headers: ETAG } },
    async handler({ principal: { org_id } }, { db }) {
      return toResponse(await db.org(org_id, getSettings));
    },
  }),
  define({
    id: "changeSettings",
    route: "PATCH /v2/settings",
    summary: "Change the organisation's settings",
    description:
      "Sets the default connection and model. Omitted fields keep their values; `null` clears a value. Nodes use the values that are set when they call their model.",
    role: "admin",
    headers: ifMatchHeaders,
    body: changeBody,
    examples: {
      both: { default_connection_id: "0197f0a0-0000-7000-8000-000000000000", default_model: "gpt-4.1-mini" },
      model: { default_model: "gpt-4.1-mini" },
      none: { default_connection_id: null, default_model: null },
    },
    problems: ["not_found"],
    success: { 200: { description: "The updated settings.", schema: settingsSchema, headers: ETAG } },
    async handler({ headers, body, principal: { org_id }, audit }, { db }) {
      const changed = await changeSettings(
        db,
        org_id,
        body,
        (found) => requireMatch(headers["if-match"], toResponse(found).headers.ETag),
        { audit, view: (row) => toResponse(row).body },
      );
      return toResponse(changed);
    },
  }),
];
