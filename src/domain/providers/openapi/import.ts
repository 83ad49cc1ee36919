import { isObject, listOf, type Json, type JsonObject } from "../../json.ts";
import type { ActionAnnotations } from "../action.ts";
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
import { membersOf, readDocument, refuse, textOf, type OpenApiDocument } from "./document.ts";
import { BODY_INPUT, type OperationCall } from "./operation.ts";
import { PLACES, type OperationParameter } from "./parameters.ts";
import { createSchemaReader, type SchemaReader } from "./schemas.ts";
import { readSecurity, type Security } from "./security.ts";

const METHODS = ["get", "put", "post", "delete", "patch", "head", "options"] as const;
/** Header parameters to ignore, because the request sets these headers itself. */
const IGNORED_HEADERS: ReadonlySet<string> = new Set(["accept", "content-type", "authorization"]);

/**
 * Makes a provider from an OpenAPI document, with one action per operation. `address` is the URL that the document came from. Throws 422.
 */
export function importOpenApi(value: unknown, address: string | null): ImportedProvider {
  const document = readDocument(value);
  const { root } = document;
  const info = document.resolve(root["info"]);
  const server = serverOf(root["servers"], address);
  const security = readSecurity(document, server);
  const taken = new Set<string>();
  const context = { document, reader: createSchemaReader(document), server, address, security, taken };
  const actions: ImportedAction[] = [];
  let chars = 0;
  for (const [path, item] of membersOf(root["paths"])) {
    const shared = document.resolve(item);
    for (const method of METHODS) {
      if (!isObject(shared[method])) continue;
      if (actions.length === MAX_ACTIONS) refuse(`A document can have at most ${MAX_ACTIONS} operations`, "paths");
      const action = actionOf({ ...context, path, method, shared, operation: shared[method] });
      chars += JSON.stringify(action).length;
      if (chars > MAX_TOTAL_CHARS) refuse("The document's operations are too long together", "paths");
      actions.push(action);
    }
  }
  if (actions.length === 0) refuse("The document has no operations", "paths");
  return {
    provider: {
      provider_version: textOf(info["version"]).slice(0, 100) || "1",
      name: textOf(info["title"]).trim().slice(0, 200) || "Imported",
      description: textOf(info["description"]).trim().slice(0, MAX_DESCRIPTION),
      provider_group: ["imported"],
      tags: listOf(root["tags"])
        .slice(0, 50)
        .map((tag) => textOf(document.resolve(tag)["name"]).slice(0, 100))
        .filter((tag) => tag !== ""),
      icon: null,
      auth: {
        required: actions.some(({ requires_connection }) => requires_connection),
        schemes: security.schemes,
      },
      source: "openapi",
    },
    actions,
  };
}

interface OperationContext {
  readonly document: OpenApiDocument;
  readonly reader: SchemaReader;
  readonly path: string;
  readonly method: (typeof METHODS)[number];
  readonly shared: JsonObject;
  readonly operation: JsonObject;
  readonly server: string;
  readonly address: string | null;
  readonly security: Security;
  readonly taken: Set<string>;
}

function actionOf(context: OperationContext): ImportedAction {
  const { document, reader, path, method, shared, operation, taken } = context;
  const place = ["paths", path, method] as const;
  const parameters = parametersOf(context);
  const body = bodyOf(document, operation["requestBody"]);
  const properties: Array<[string, Json]> = [];
  const required: string[] = [];
  const $defs: Record<string, Json> = {};
  const add = (name: string, schema: Json | undefined, description: string, isRequired: boolean): void => {
    const { $defs: defs, ...own } = reader.read(schema, "request", MAX_INPUT_CHARS);
    Object.assign($defs, defs);
    properties.push([name, description === "" ? own : { ...own, description: description.slice(0, MAX_DESCRIPTION) }]);
    if (isRequired) required.push(name);
  };
  for (const { call, given } of parameters) {
    const [content] = membersOf(given["content"]);
    const schema = content ? document.resolve(content[1])["schema"] : given["schema"];
    const isRequired = call.in === "path" || given["required"] === true;
    add(call.input, schema ?? { type: "string" }, textOf(given["description"]), isRequired);
  }
  if (body) {
    const { kind } = body.call;
    const schema = kind === "binary" ? { type: "string", contentEncoding: "base64" } : body.schema;
    const hint = kind === "multipart" ? "A file is {filename, content_base64, content_type}. " : "";
    const files = kind === "multipart" ? withFiles(document.resolve(schema)) : schema;
    const { required: given, description: about } = body.given;
    const isRequired = given === true || (given !== false && method === "post" && kind === "binary");
    add(BODY_INPUT, files, hint + textOf(about), isRequired);
  }
  const summary = textOf(operation["summary"]).trim();
  const description = textOf(operation["description"]).trim();
  const own = operation["servers"] ?? shared["servers"];
  const id = actionId(textOf(operation["operationId"]) || `${method}_${path}`, taken);
  return {
    action_id: id,
    name: (summary || id).slice(0, 200),
    description: {
      human: (description || summary).slice(0, MAX_DESCRIPTION),
      llm: [summary, description === summary ? "" : description, `(${method.toUpperCase()} ${path})`]
        .filter((part) => part !== "")
        .join(" ")
        .slice(0, MAX_DESCRIPTION),
    },
    input_schema: {
      type: "object",
      properties: Object.fromEntries(properties),
      required,
      additionalProperties: false,
      ...(Object.keys($defs).length > 0 ? { $defs } : {}),
    },
    output_schema: outputOf(context),
    annotations: annotationsOf(method),
    requires_connection: context.security.required(operation["security"], `${method.toUpperCase()} ${path}`, place),
    timeout_seconds: 60,
    version: "1",
    operation: {
      method: method.toUpperCase(),
      server: own === undefined ? context.server : serverOf(own, context.address),
      ...(own === undefined ? {} : { own_server: true as const }),
      path: path.startsWith("/") ? path : refuse("A path must begin with /", ...place),
      parameters: parameters.map(({ call }) => call),
      body: body?.call ?? null,
    },
  };
}

/** The effects of a method by RFC 9110. */
function annotationsOf(method: string): ActionAnnotations {
  const read_only = method === "get" || method === "head" || method === "options";
  return {
    read_only,
    destructive: method === "delete" || method === "put" || method === "patch",
    idempotent: read_only || method === "put" || method === "delete",
  };
}

interface GivenParameter {
  readonly call: OperationParameter;
  readonly given: JsonObject;
}

/** An operation's own parameters, and those of its path that it does not replace. */
function parametersOf({ document, shared, operation }: OperationContext): GivenParameter[] {
  const all = new Map<string, JsonObject>();
  for (const each of [...listOf(shared["parameters"]), ...listOf(operation["parameters"])]) {
    const given = document.resolve(each);
    all.set(`${textOf(given["in"])} ${textOf(given["name"])}`, given);
  }
  const inputs = new Set([BODY_INPUT]);
  return [...all.values()].flatMap((given) => {
    const name = textOf(given["name"]);
    const where = PLACES.find((place) => place === given["in"]);
    if (name === "" || where === undefined) return [];
    if (where === "header" && IGNORED_HEADERS.has(name.toLowerCase())) return [];
    // Such a name is invalid for a header or cookie, so the parameter cannot be sent.
    if (where !== "query" && where !== "path" && !/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/.test(name)) return [];
    let input = name === "__proto__" ? "proto" : name;
    if (inputs.has(input)) input = `${input}_${where}`;
    inputs.add(input);
    const style = textOf(given["style"]) || (where === "query" || where === "cookie" ? "form" : "simple");
    const explode = typeof given["explode"] === "boolean" ? given["explode"] : style === "form";
    const json = isObject(given["content"]) ? { json: true as const } : {};
    return [{ call: { name, in: where, input, style, explode, ...json }, given }];
  });
}

interface Body {
  readonly call: NonNullable<OperationCall["body"]>;
  readonly schema: Json | undefined;
  readonly given: JsonObject;
}

const KINDS: ReadonlyArray<readonly [RegExp, NonNullable<OperationCall["body"]>["kind"]]> = [
  [/^application\/(?:[\w.+-]+\+)?json\b/i, "json"],
  [/^application\/x-www-form-urlencoded\b/i, "form"],
  [/^multipart\//i, "multipart"],
  [/^text\/|^application\/(?:xml|[\w.+-]+\+xml)\b/i, "text"],
  [/./, "binary"],
];

/** The request body, in the most structured of the offered content types: JSON if possible. */
function bodyOf(document: OpenApiDocument, value: Json | undefined): Body | undefined {
  if (value === undefined) return undefined;
  const given = document.resolve(value);
  for (const [pattern, kind] of KINDS) {
    const found = membersOf(given["content"]).find(([type]) => pattern.test(type));
    if (!found) continue;
    const [type, media] = found;
    // A range such as text/* cannot be sent as a content type.
    const sent = type.includes("*") ? (kind === "text" ? "text/plain" : "application/octet-stream") : type;
    const { schema } = document.resolve(media);
    // The caller writes the text of such a body, because fields of a schema cannot be converted to it.
    const isText = isObject(schema) && document.resolve(schema)["type"] === "string";
    const text: JsonObject = { type: "string", description: `The body as ${sent}` };
    return { call: { kind, type: sent }, schema: kind === "text" && !isText ? text : schema, given };
  }
  return undefined;
}

/** Replaces binary fields with files. */
function withFiles(schema: JsonObject): JsonObject {
  const file: JsonObject = {
    type: "object",
    properties: { filename: { type: "string" }, content_base64: { type: "string" }, content_type: { type: "string" } },
    required: ["content_base64"],
  };
  const isFile = (each: Json): boolean =>
    isObject(each) && (each["format"] === "binary" || each["contentMediaType"] !== undefined);
  const properties = membersOf(schema["properties"]).map(([name, each]) => {
    if (isFile(each)) return [name, file] as const;
    const items = isObject(each) ? each["items"] : undefined;
    return [name, items !== undefined && isFile(items) ? { type: "array", items: file } : each] as const;
  });
  return { ...schema, properties: Object.fromEntries(properties) };
}

/** The schema of the output, from the first 2xx response that is JSON. */
function outputOf({ document, reader, operation }: OperationContext): JsonObject {
  for (const [status, value] of membersOf(operation["responses"])) {
    if (!/^2|^default$/.test(status)) continue;
    const json = membersOf(document.resolve(value)["content"]).find(([type]) => /json/i.test(type));
    if (json) return reader.read(document.resolve(json[1])["schema"], "response", MAX_OUTPUT_CHARS);
  }
  return {};
}

/** The URL of the first server, with the defaults of its variables; "" if it is not an absolute URL. */
function serverOf(servers: Json | undefined, address: string | null): string {
  const [first] = listOf(servers);
  const given = isObject(first) ? first : {};
  const variables = isObject(given["variables"]) ? given["variables"] : {};
  const url = (textOf(given["url"]) || "/").replaceAll(/\{([^{}]+)\}/g, (_, name: string) => {
    const variable = variables[name];
    return isObject(variable) ? textOf(variable["default"]) : "";
  });
  const base = address ?? undefined;
  if (!URL.canParse(url, base)) return "";
  const { protocol, href, username } = new URL(url, base);
  return /^https?:$/.test(protocol) && username === "" ? href.replace(/\/$/, "") : "";
}
