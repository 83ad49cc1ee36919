import { createFormCompiler, MAX_SCHEMA_CHARS, type FormCompiler } from "../../flow/forms/form.ts";
import { invalid, Problem } from "../../errors.ts";
import { isObject, type Json, type JsonObject } from "../../json.ts";
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
  type ImportedAction,
  type ImportedProvider,
} from "../imported.ts";
import { membersOf, requireLocal, resolver, textOf } from "../openapi/document.ts";
import { createSchemaReader } from "../openapi/schemas.ts";

/** An MCP server's description of itself and its tools. */
export interface McpListing {
  readonly server: {
    readonly name: string;
    readonly title: string;
    readonly version: string;
    readonly instructions: string;
  };
  readonly tools: readonly Json[];
}

/** Ways to authenticate with an MCP server. A connection is bound to the URL it was created with. */
export function mcpSchemes(url: string): AuthSchemes {
  const base = {
    base_url: webAddress("URL of the MCP server: the credential is sent only to this URL", { default: url }),
  };
  return {
    bearer: bearer(base),
    api_key: placedApiKey(base),
    basic: basic(base),
    oauth2_client_credentials: clientCredentials(base),
  };
}

/** Options for importing a server's tools. */
export interface ToolsSource {
  readonly url: string;
  /** Whether its tools need a connection. */
  readonly secured: boolean;
  /** Whether the server's statements about its tools' effects are trusted. */
  readonly trusted: boolean;
}

/** Makes a provider from an MCP server, with one action per tool. Throws 422. */
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
    if (chars > MAX_TOTAL_CHARS) refuse("The server's tool definitions are too long together");
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
        // Do not change this text: imports are compared with stored actions, so every tool of every server would count as changed.
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
 * The effects of a tool. By the protocol's defaults, a tool without hints may change and delete things, and must not be repeated. Pass no
 * hints of a server that is not trusted, because they decide whether calls may be repeated.
 */
function annotationsOf(hints: JsonObject): ActionAnnotations {
  const read_only = hints["readOnlyHint"] === true;
  return {
    read_only,
    destructive: !read_only && hints["destructiveHint"] !== false,
    idempotent: read_only || hints["idempotentHint"] === true,
  };
}

/**
 * Converts a tool's schema to Millrace's form. If that is impossible, the result accepts any object and says so, because the server
 * validates the arguments itself.
 */
function readable(
  schema: Json | undefined,
  direction: "request" | "response",
  maxChars: number,
  compile: FormCompiler,
): JsonObject {
  if (!isObject(schema)) return {};
  try {
    requireLocal(schema, [], 0);
    const reader = createSchemaReader({ root: schema, version: "3.1", resolve: resolver(schema, "3.1") });
    const { $defs: inner, definitions: _, ...top } = reader.read(withoutDefinitions(schema), direction, maxChars);
    const found: JsonObject = { ...top, ...(inner === undefined ? {} : { $defs: inner }) };
    const checked = compile(found);
    if (checked.ok && JSON.stringify(found).length <= 2 * maxChars) return found;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
  }
  return { $comment: "The server's schema is too long or cannot be read: takes any object." };
}

/** The schema reader adds the definitions that are used. */
function withoutDefinitions(schema: JsonObject): JsonObject {
  return Object.fromEntries(membersOf(schema).filter(([name]) => name !== "$defs" && name !== "definitions"));
}

/**
 * The schema for use inside another one, or any object if it has definitions: its references would be resolved from the outer schema's
 * root.
 */
function own(schema: JsonObject): JsonObject {
  return schema["$defs"] === undefined ? schema : { type: "object" };
}

function refuse(message: string): never {
  throw invalid(["body", "mcp", "url"], message);
}
