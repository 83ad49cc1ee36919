import { objectSchema } from "../../json-schema.ts";
import type { JsonObject } from "../../json.ts";
import { ActionRefused, asText, inputsOf, queryOf, READS, type ActionRequest } from "../action.ts";
import { basic, bearer, clientCredentials, placedApiKey, webAddress } from "../auth-fields.ts";
import { textOf, type Credential } from "../connection.ts";
import { defineProvider } from "../provider.ts";

const base = { base_url: webAddress("Base URL: the credential is sent only to URLs below it") };

const HEADER_NAME = "^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$";
const url = {
  type: "string",
  minLength: 1,
  maxLength: 8192,
  description: "A URL or, with a connection, a path below its base_url",
} as const;
const options = {
  headers: {
    type: "object",
    propertyNames: { pattern: HEADER_NAME },
    additionalProperties: { type: "string" },
    description: "Values by name",
  },
  query: { type: "object", additionalProperties: { type: ["string", "number", "boolean"] }, description: "Parameters" },
} as const;

const answer = objectSchema({ status: { type: "integer" }, headers: { type: "object" }, body: {} });

export const http = defineProvider({
  provider_id: "http",
  name: "HTTP",
  description: "Any HTTP service",
  provider_group: ["core"],
  tags: ["http", "rest", "api"],
  auth: {
    required: false,
    schemes: {
      api_key: placedApiKey(base),
      basic: basic(base),
      bearer: bearer(base),
      oauth2_client_credentials: clientCredentials(base),
    },
  },
  actions: {
    get: {
      name: "Get",
      description: "Reads a URL: JSON is parsed, text is returned as text, anything else as base64",
      annotations: READS,
      requires_connection: false,
      input_schema: inputsOf({ url }, options),
      output_schema: answer,
      request: (inputs, credential) => requestOf("GET", inputs, credential),
      outputs: (response) => ({ ...response }),
    },
    request: {
      name: "Request",
      description: "Sends any HTTP request",
      llm: "Sends any HTTP request, which may change or delete things. The request is never repeated. To read, use get.",
      annotations: { read_only: false, destructive: true, idempotent: false },
      requires_connection: false,
      input_schema: inputsOf(
        { method: { enum: ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"] }, url },
        { ...options, body: { description: "Sent as JSON, or unchanged if it is a string" } },
      ),
      output_schema: answer,
      request: (inputs, credential) => requestOf(asText(inputs["method"]), inputs, credential),
      outputs: (response) => ({ ...response }),
    },
  },
});

function requestOf(method: string, inputs: JsonObject, credential: Credential): ActionRequest {
  const { url, headers = {}, query = {}, body } = inputs;
  const isText = typeof body === "string";
  return {
    method,
    url: addressOf(asText(url), textOf(credential, "base_url")),
    query: queryOf(query as JsonObject),
    headers: Object.fromEntries(
      Object.entries(headers as JsonObject).map(([name, value]) => [name.toLowerCase(), asText(value)]),
    ),
    ...(body === undefined
      ? {}
      : { body: isText ? { text: body, type: "text/plain; charset=utf-8" } : { json: body } }),
  };
}

/** The URL to call. Throws if the credential would be sent to a service other than its own. */
function addressOf(url: string, baseUrl: string): string {
  if (baseUrl === "") return url;
  const root = new URL(baseUrl.endsWith("/") ? baseUrl : `${baseUrl}/`);
  const isRelative = !/^[a-z][a-z0-9+.-]*:|^\/\//i.test(url);
  const address = isRelative ? `${root.href}${url.replace(/^\/+/, "")}` : url;
  const target = URL.canParse(address) ? new URL(address) : null;
  if (target === null) throw new ActionRefused("inputs", "url: must be a valid URL");
  if (target.origin === root.origin && `${target.pathname}/`.startsWith(root.pathname)) return address;
  throw new ActionRefused("inputs", `url: the connection allows only URLs below ${root.origin}${root.pathname}`);
}
