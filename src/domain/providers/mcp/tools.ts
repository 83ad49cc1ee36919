import { createFormCompiler, MAX_SCHEMA_CHARS } from "../../flow/forms/form.ts";
import type { FormCompiler } from "../../flow/forms/form.ts";
import { invalid, Problem } from "../../errors.ts";
import { isObject } from "../../json.ts";
import type { Json, JsonObject } from "../../json.ts";
import type { ActionAnnotations } from "../action.ts";
import { basic, bearer, clientCredentials, placedApiKey, webAddress } from "../auth-fields.ts";
import type { AuthSchemes } from "../connection.ts";
import {
  actionId,
  MAX_ACTIONS,
  MAX_DESCRIPTION,
  MAX_INPUT_CHARS,
  MAX_OUTPUT_CHARS,
  MAX_TOTAL_CHARS,
} from "../imported.ts";
import type { ImportedAction, ImportedProvider } from "../imported.ts";
import { membersOf, requireLocal, resolver, textOf } from "../openapi/document.ts";
import { createSchemaReader } from "../openapi/schemas.ts";

/** What an MCP server says of itself and of its tools. */
export interface McpListing {
  readonly server: {
    readonly name: string;
    readonly title: string;
    readonly version: string;
    readonly instructions: string;
  };
  readonly tools: readonly Json[];
}

/** Ways to authenticate with an MCP server: a connection is for the address that it was created with. */
export function mcpSchemes(url: string): AuthSchemes {
  const base = {
    base_url: webAddress("The server's address: the credential is sent to this one only", { default: url }),
  };
  return {
    bearer: bearer(base),
    api_key: placedApiKey(base),
    basic: basic(base),
    oauth2_client_credentials: clientCredentials(base),
  };
}

/** How the tools of a server are imported. */
export interface ToolsSource {
  readonly url: string;
  /** Its tools need a connection. */
  readonly secured: boolean;
  /** The server's annotations of its tools' effects are trusted. */
  readonly trusted: boolean;
}

/** Makes a provider of an MCP server: each tool is an action. Throws 422. */
export function importTools({ server, tools }: McpListing, source: ToolsSource): ImportedProvider {
  const { url, secured, trusted } = source;
  if (tools.length > MAX_ACTIONS) refuse(`The server has more than ${MAX_ACTIONS} tools`);
  const taken = new Set<string>();
  const compile = createFormCompiler(MAX_SCHEMA_CHARS);
  let chars = 0;
  const actions = tools.flatMap((each): ImportedAction[] => {
    const tool = isObject(each) ? each : {};
    const name = textOf(tool["name"]);
    if (name === "") return [];
    const action = actionOf(tool, actionId(name, taken), { name, url }, source, compile);
    chars += JSON.stringify(action).length;
    if (chars > MAX_TOTAL_CHARS) refuse("The server's tools are too long together");
    return [action];
  });
  if (actions.length === 0) refuse("The server has no tools");
  return {
    provider: {
      provider_version: server.version.slice(0, 100) || "1",
      name: (server.title || server.name).trim().slice(0, 200) || "Imported",
      description: server.instructions.trim().slice(0, MAX_DESCRIPTION),
      provider_group: ["imported"],
      tags: ["mcp"],
      icon: null,
      auth: { required: secured, schemes: mcpSchemes(url) },
      source: "mcp",
      trusted,
    },
    actions,
  };
}

function actionOf(
  tool: JsonObject,
  action_id: string,
  call: { readonly name: string; readonly url: string },
  { secured, trusted }: ToolsSource,
  compile: FormCompiler,
): ImportedAction {
  const hints = isObject(tool["annotations"]) ? tool["annotations"] : {};
  const title = (textOf(tool["title"]) || textOf(hints["title"])).trim();
  const description = textOf(tool["description"]).trim();
  return {
    action_id,
    name: (title || call.name).slice(0, 200),
    description: {
      human: (description || title).slice(0, MAX_DESCRIPTION),
      llm: (description || title || call.name).slice(0, MAX_DESCRIPTION),
    },
    input_schema: { type: "object", ...readable(tool["inputSchema"], "request", MAX_INPUT_CHARS, compile) },
    output_schema: {
      type: "object",
      properties: {
        text: { type: "string", description: "The texts of the answer" },
        content: { type: "array", items: { type: "object" } },
        ...(isObject(tool["outputSchema"])
          ? { structured_content: own(readable(tool["outputSchema"], "response", MAX_OUTPUT_CHARS, compile)) }
          : {}),
      },
      required: ["text", "content"],
    },
    annotations: annotationsOf(trusted ? hints : {}),
    requires_connection: secured,
    timeout_seconds: 60,
    version: "1",
    tool: call,
  };
}

/**
 * What the protocol says of a tool that says nothing: it may change and delete things, and is called once. Hints are a server's own words:
 * one that is not trusted does not decide by them that its tools may be called again.
 */
function annotationsOf(hints: JsonObject): ActionAnnotations {
  const read_only = hints["readOnlyHint"] === true;
  return {
    read_only,
    destructive: !read_only && hints["destructiveHint"] !== false,
    idempotent: read_only || hints["idempotentHint"] === true,
  };
}

/** A schema of a tool as ours are. One that cannot be used takes any object, and says so: the server checks for itself. */
function readable(
  schema: Json | undefined,
  direction: "request" | "response",
  maxChars: number,
  compile: FormCompiler,
): JsonObject {
  if (!isObject(schema)) return {};
  try {
    requireLocal(schema, [], 0);
    const reader = createSchemaReader({ root: schema, version: "3.1", resolve: resolver(schema) });
    const { $defs: inner, definitions: _, ...top } = reader.read(withoutDefinitions(schema), direction, maxChars);
    const found: JsonObject = { ...top, ...(inner === undefined ? {} : { $defs: inner }) };
    const checked = compile(found);
    if (checked.ok && JSON.stringify(found).length <= 2 * maxChars) return found;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
  }
  return { $comment: "The server's schema is too long or cannot be read: takes any object." };
}

/** Definitions come back with what refers to them. */
function withoutDefinitions(schema: JsonObject): JsonObject {
  return Object.fromEntries(membersOf(schema).filter(([name]) => name !== "$defs" && name !== "definitions"));
}

/** Inside another schema, references still lead from its own root. */
function own(schema: JsonObject): JsonObject {
  return schema["$defs"] === undefined ? schema : { type: "object" };
}

function refuse(message: string): never {
  throw invalid(["body", "mcp", "url"], message);
}
