import { z } from "zod";
import { jsonValueSchema } from "../../json-schema.ts";
import { defineNode, liquid, liquidInside, NETWORK_RETRY, remembersNothing, type ConfigFault } from "./spec.ts";
import { isWebAddress } from "../../web-address.ts";

/** Header names as RFC 9110 has them. */
const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$/;

const statusSchema = z.union(
  [z.int().min(100).max(599), z.string().regex(/^[1-5](xx|[0-9]{2})$/, "A status such as 200 or a class such as 2xx")],
  "A status such as 200 or a class such as 2xx",
);

const config = z.strictObject({
  method: z.enum(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]).default("GET"),
  url: z.string().min(1).describe("Liquid; an http or https address once rendered"),
  headers: z
    .record(z.string().regex(HEADER_NAME, "Not a header name"), z.string())
    .default({})
    .describe("Name to Liquid"),
  query: z.record(z.string().min(1).max(256), z.string()).default({}).describe("Name to Liquid, added to the address"),
  body: jsonValueSchema
    .exactOptional()
    .describe("Sent as JSON, or as it is where it is a string; Liquid in every string of it"),
  expect_status: z
    .union([statusSchema, z.array(statusSchema).min(1).max(20)])
    .default("2xx")
    .describe("Any other status fails the node"),
});
export type HttpConfig = z.infer<typeof config>;

export const httpSpec = defineNode({
  description: "Calls an HTTP service",
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
      ? [{ path: ["body"], severity: "error" as const, message: `A ${method} request has no body` }]
      : []),
  ],
  remembers: remembersNothing,
  retry: NETWORK_RETRY,
  timeout_ms: 30_000,
  io: {
    output: () => ({
      type: "object",
      properties: { status: { type: "integer" }, headers: { type: "object" }, body: {} },
      required: ["status", "headers", "body"],
    }),
  },
});

function urlFaults(url: string): ConfigFault[] {
  // The rendered value is checked when the node runs.
  const wrong =
    url.includes("{{") || url.includes("{%") ? /^\s*(?!https?:)[a-z][a-z0-9+.-]*:/i.test(url) : !isWebAddress(url);
  return wrong ? [{ path: ["url"], severity: "error", message: "An address starts with http:// or https://" }] : [];
}
