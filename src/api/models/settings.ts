import { z } from "zod";
import { changeSettings } from "../../services/models/settings.ts";
import { getSettings } from "../../stores/models/settings.ts";
import type { OrganisationSettings } from "../../stores/models/settings.ts";
import type { ApiDeps } from "../deps.ts";
import { ETAG, contentTag, ifMatchHeaders, requireMatch, tagged } from "../http/etag.ts";
import { defineOperation } from "../http/operation.ts";
import type { Operation } from "../http/operation.ts";

const settingsSchema = z
  .object({
    default_connection_id: z
      .uuid()
      .nullable()
      .describe("The connection of model nodes that name none; null: the installation's own endpoint, if it has one."),
    default_model: z.string().nullable().describe("The model of nodes that name none."),
  })
  .meta({ id: "Settings" });

const changeBody = z
  .strictObject({
    default_connection_id: z
      .uuid()
      .toLowerCase()
      .nullable()
      .optional()
      .describe("A connection of provider openai_compatible or anthropic."),
    default_model: z.string().trim().min(1).max(256).nullable().optional().describe("A name that the endpoint knows."),
  })
  .meta({ id: "SettingsChange" });

const COMMON = { tag: "Models", auth: "secret" } as const;

/** `/v2/settings`: what the organisation's model nodes use where they name nothing themselves. */
export function createSettingsOperations({ db }: ApiDeps): Operation[] {
  const toResponse = ({ default_connection_id, default_model }: OrganisationSettings) => {
    const body = { default_connection_id, default_model };
    return tagged(body, contentTag(body));
  };
  return [
    defineOperation({
      ...COMMON,
      id: "getSettings",
      method: "GET",
      path: "/v2/settings",
      summary: "Get the organisation's settings",
      description: "The connection and the model that nodes without one of their own use.",
      success: { 200: { description: "The settings.", schema: settingsSchema, headers: ETAG } },
      async handler({ principal: { org_id } }) {
        return toResponse(await db.org(org_id, getSettings));
      },
    }),
    defineOperation({
      ...COMMON,
      id: "changeSettings",
      method: "PATCH",
      path: "/v2/settings",
      summary: "Change the organisation's default connection and model",
      description: "null unsets. Runs use what is set when their node asks its model.",
      role: "admin",
      headers: ifMatchHeaders,
      body: changeBody,
      examples: {
        both: { default_connection_id: "0197f0a0-0000-7000-8000-000000000000", default_model: "gpt-4.1-mini" },
        model: { default_model: "gpt-4.1-mini" },
        none: { default_connection_id: null, default_model: null },
      },
      problems: ["not_found"],
      success: { 200: { description: "The settings as they are now.", schema: settingsSchema, headers: ETAG } },
      async handler({ headers, body, principal: { org_id }, audit }) {
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
}
