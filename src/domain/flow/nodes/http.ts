import { z } from "zod";
import { jsonValueSchema, objectSchema } from "../../json-schema.ts";
import { defineNode, liquid, liquidInside, NETWORK_RETRY, remembersNothing, type ConfigFault } from "./spec.ts";
import { isWebAddress } from "../../web-address.ts";

/** Header names by RFC 9110. */
const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$/;

const statusSchema = z.union(
  [
    z.int().min(100).max(599),
    z.string().regex(/^[1-5](xx|[0-9]{2})$/, "Must be a status such as 200 or a class such as 2xx"),
  ],
  "Must be a status such as 200 or a class such as 2xx",
);

const config = z.strictObject({
  method: z.enum(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]).default("GET"),
  url: z.string().min(1).describe("Liquid template that renders to an http or https URL"),
  headers: z
    .record(z.string().regex(HEADER_NAME, "Not a valid header name"), z.string())
    .default({})
    .describe("Headers: name to Liquid template"),
  query: z
    .record(z.string().min(1).max(256), z.string())
    .default({})
    .describe("Query parameters to add to the URL: name to Liquid template"),
  body: jsonValueSchema
    .exactOptional()
    .describe("Request body: sent as JSON, or unchanged if it is a string; Liquid in every string"),
  expect_status: z
    .union([statusSchema, z.array(statusSchema).min(1).max(20)])
    .default("2xx")
    .describe("Statuses that succeed; any other status fails the node"),
});
export type HttpConfig = z.infer<typeof config>;

export const httpSpec = defineNode({
  title: "HTTP request",
  group: "services",
  icon: "globe",
  description: "Calls an HTTP service",
  example: { method: "GET", url: "https://api.example.com/orders/{{ in-0 }}", headers: { accept: "application/json" } },
  advanced: ["headers", "query", "expect_status"],
  config,
  effect: true,
  execution: () => "activity",
  expressions: ({ url, headers, query, body }) => [
    liquid(url, "url"),
    ...liquidInside(headers, "headers"),
    ...liquidInside(query, "query"),
    ...(body === undefined ? [] : liquidInside(body, "body")),
  ],
  faults: ({ method, url, body }) => [
    ...urlFaults(url),
    ...(body !== undefined && (method === "GET" || method === "HEAD")
      ? [{ path: ["body"], severity: "error" as const, message: `A ${method} request cannot have a body` }]
      : []),
  ],
  remembers: remembersNothing,
  retry: NETWORK_RETRY,
  timeout_ms: 30_000,
  io: { output: () => objectSchema({ status: { type: "integer" }, headers: { type: "object" }, body: {} }) },
});

function urlFaults(url: string): ConfigFault[] {
  // A URL with a template is checked after rendering, when the node runs.
  const wrong =
    url.includes("{{") || url.includes("{%") ? /^\s*(?!https?:)[a-z][a-z0-9+.-]*:/i.test(url) : !isWebAddress(url);
  return wrong ? [{ path: ["url"], severity: "error", message: "The URL must start with http:// or https://" }] : [];
}
