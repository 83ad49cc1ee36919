import { memberOf, type Json, type JsonObject } from "../../json.ts";
import {
  ActionRefused,
  asText,
  below,
  queryOf,
  type ActionRequest,
  type BodyPart,
  type RequestBody,
} from "../action.ts";
import { textOf, type Credential } from "../connection.ts";
import { cookieText, headerText, pathPart, queryList, queryPairs, type OperationParameter } from "./parameters.ts";
import { jsonTextOf } from "../read-texts.ts";

/** The stored request of an imported operation. */
export interface OperationCall {
  readonly method: string;
  /** The server to call without a connection; "" if the document names none. */
  readonly server: string;
  /** Whether the operation has its own server instead of the document's. */
  readonly own_server?: true;
  readonly path: string;
  readonly parameters: readonly OperationParameter[];
  readonly body: { readonly kind: "json" | "form" | "multipart" | "text" | "binary"; readonly type: string } | null;
}

/** The input that contains a request's body. */
export const BODY_INPUT = "body";

/** The request of an imported operation, for inputs that match its schema. Throws ActionRefused. */
export function operationRequest(
  call: OperationCall,
  inputs: JsonObject,
  credential: Credential,
  schema: JsonObject,
): ActionRequest {
  const query: Array<readonly [string, string]> = [];
  const encoded_query: string[] = [];
  const headers: Record<string, string> = {};
  const cookies: string[] = [];
  let { path } = call;
  for (const parameter of call.parameters) {
    const value = inputs[parameter.input];
    if (parameter.in === "path") {
      path = path.replaceAll(`{${parameter.name}}`, pathPart(parameter, value));
    } else if (value !== undefined && value !== null) {
      if (parameter.in === "query") {
        const list = queryList(parameter, value);
        if (list === null) query.push(...queryPairs(parameter, value));
        else encoded_query.push(list);
      }
      if (parameter.in === "header") headers[parameter.name.toLowerCase()] = headerText(parameter, value);
      if (parameter.in === "cookie") cookies.push(cookieText(parameter, value));
    }
  }
  if (cookies.length > 0) headers["cookie"] = cookies.join("; ");
  const given = inputs[BODY_INPUT];
  const json = (value: Json): string => jsonTextOf(schema, memberOf(schema["properties"] ?? {}, BODY_INPUT), value);
  const body = call.body === null || given === undefined ? undefined : bodyOf(call.body, given, json);
  return {
    method: call.method,
    url: below(serverOf(call, credential), path),
    query,
    ...(encoded_query.length > 0 ? { encoded_query } : {}),
    headers,
    ...(body ? { body } : {}),
  };
}

/** A credential is sent only to the service it was stored for, even if the document now names another one. */
function serverOf({ server, own_server }: OperationCall, credential: Credential): string {
  const base = textOf(credential, "base_url");
  if (base !== "" && !(own_server && isBelow(server, base))) return base;
  if (server !== "") return server;
  throw new ActionRefused("inputs", "connection_id: the document names no server; choose a connection with a base_url");
}

/** Whether an operation's server is below the connection's base URL, so that it may receive the credential. */
function isBelow(server: string, base: string): boolean {
  if (!URL.canParse(server)) return false;
  const [own, root] = [new URL(server), new URL(base)];
  return own.origin === root.origin && `${own.pathname}/`.startsWith(`${root.pathname.replace(/(?<!\/)\/+$/, "")}/`);
}

function bodyOf(
  { kind, type }: NonNullable<OperationCall["body"]>,
  value: Json,
  json: (value: Json) => string,
): RequestBody {
  switch (kind) {
    case "json":
      return type === "application/json" ? { json: value, text: json(value) } : { text: json(value), type };
    case "text":
      return { text: asText(value), type };
    case "binary":
      return { bytes: Buffer.from(asText(value), "base64"), type };
    case "form":
      return { form: queryOf(value as JsonObject) };
    case "multipart":
      return { parts: Object.entries(value as JsonObject).flatMap(([name, each]) => partsOf(name, each)) };
    default:
      return kind satisfies never;
  }
}

/** A file is `{filename, content_base64, content_type*}`; anything else is an ordinary field. */
function partsOf(name: string, value: Json): BodyPart[] {
  if (Array.isArray(value)) return value.flatMap((each: Json) => partsOf(name, each));
  if (typeof value !== "object" || value === null) return [{ name, content: asText(value) }];
  const { filename, content_base64, content_type } = value as JsonObject;
  if (typeof content_base64 !== "string") return [{ name, content: JSON.stringify(value), type: "application/json" }];
  const type = asText(content_type) || "application/octet-stream";
  return [{ name, content: Buffer.from(content_base64, "base64"), filename: asText(filename) || name, type }];
}
