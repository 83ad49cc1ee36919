import type { Creatable } from "../../../api/create.ts";
import type { Schemas } from "../../../api/client.ts";
import { isObject } from "../../../flow/access.ts";

type Body = Readonly<Record<string, unknown>>;

/** The fields of something new, in the shape of the body that creates it. */
export interface CreateForm {
  readonly title: string;
  /** JSON Schema. */
  readonly schema: object;
  readonly bodyOf: (data: Body) => Body;
}

const asIs = (data: Body): Body => data;
const text = (title: string, description?: string, more: object = {}): object => ({
  type: "string",
  title,
  ...(description !== undefined && { description }),
  ...more,
});
const fields = (properties: object, required: readonly string[]): object => ({
  type: "object",
  properties,
  required,
  additionalProperties: false,
});

export const FORMS: Readonly<Record<Exclude<Creatable, "connection">, CreateForm>> = {
  knowledge_base: {
    title: "Create knowledge base",
    schema: fields(
      { name: text("Name"), description: text("Description", "Add documents on its page, or with the API.") },
      ["name"],
    ),
    bodyOf: asIs,
  },
  skill: {
    title: "Create skill",
    schema: fields(
      {
        name: text("Name", "Lower-case letters, digits and hyphens."),
        description: text("Description", "What the skill does and when to use it."),
        instructions: text("Instructions", undefined, { format: "markdown" }),
      },
      ["name", "description", "instructions"],
    ),
    bodyOf: asIs,
  },
  project: {
    title: "Create flow",
    schema: fields({ name: text("Name", "Slashes make folders: support/refunds.") }, ["name"]),
    bodyOf: asIs,
  },
  provider: {
    title: "Import provider",
    schema: fields(
      {
        openapi: text("URL of an OpenAPI document", "Each operation becomes an action.", { format: "uri" }),
        mcp: text("Or URL of an MCP server", "Each tool becomes an action.", { format: "uri" }),
      },
      [],
    ),
    bodyOf: ({ openapi, mcp }) => ({
      ...(openapi !== undefined && { openapi }),
      ...(mcp !== undefined && { mcp: { url: mcp } }),
    }),
  },
};

/** The fields of a connection: its name, and the credential as its provider describes it. */
export function connectionForm({ provider_id, name, auth }: Schemas["Provider"], scheme: string): CreateForm {
  const { oneOf } = auth.fields as { readonly oneOf?: readonly unknown[] };
  const own = oneOf?.filter(isObject).find((each) => each["title"] === scheme) ?? auth.fields;
  return {
    title: "Create connection",
    schema: fields(
      {
        name: text("Name", undefined, { default: name }),
        credential: { ...own, title: "Credential", properties: titled(own["properties"]) },
      },
      ["name", "credential"],
    ),
    bodyOf: (data) => ({ provider_id, scheme, ...data }),
  };
}

/** The fields of a credential with names for people: `api_key` is "API key". */
function titled(properties: unknown): object {
  const all = Object.entries(isObject(properties) ? properties : {});
  return Object.fromEntries(
    all.map(([name, schema]) => [name, isObject(schema) ? { title: nameOf(name), ...schema } : schema]),
  );
}

const SHORT = /\b(api|url|id)\b/g;
function nameOf(field: string): string {
  const words = field.replaceAll("_", " ").replace(SHORT, (each) => each.toUpperCase());
  return words.charAt(0).toUpperCase() + words.slice(1);
}
