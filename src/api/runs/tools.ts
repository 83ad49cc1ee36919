import { randomUUID } from "node:crypto";
import { z } from "zod";
import { callerOfRequest } from "../../platform/fetch/own-calls.ts";
import type { Principal } from "../../domain/accounts/principal.ts";
import { Problem } from "../../domain/errors.ts";
import { asText } from "../../domain/providers/action.ts";
import { GET_RUN } from "../../domain/flow/io/tool-names.ts";
import { jsonObjectSchema, jsonValueSchema } from "../../domain/json-schema.ts";
import { PRODUCTION } from "../../domain/projects/environments.ts";
import { isObject, type Json, type JsonObject } from "../../domain/json.ts";
import {
  agreedVersion,
  DEPTH,
  INVALID_PARAMS,
  MCP_VERSIONS,
  METHOD_NOT_FOUND,
  rpcError,
  rpcResult,
  RpcRefused,
} from "../../domain/runs/tool-protocol.ts";
import { isUuid } from "../../domain/uuid.ts";
import { createFlowTools, type FlowTools, type WantedTools } from "../../services/projects/flow-tools.ts";
import { VERSION } from "../../version.ts";
import { answerStream, EVENT_STREAM } from "../http/event-stream.ts";
import { operationsOf, type RequestContext } from "../http/operation.ts";
import { requireOrigin } from "../http/addresses.ts";
import { environmentName, requirePublicEnvironment } from "../http/run-request.ts";
import { givenId } from "../http/schemas.ts";
import { beginCall, callEvents, settledCall, type ToolCall } from "./tool-calls.ts";

const MAX_FLOWS = 100;
const rpcId = z.union([z.string().max(200), z.int()]);

const message = z
  .looseObject({
    jsonrpc: z.literal("2.0"),
    id: rpcId.optional().describe("ID of the request; omitted in notifications."),
    method: z.string().max(200).optional().describe("Omitted in a client's response."),
    params: jsonObjectSchema.optional(),
  })
  .meta({ id: "McpMessage", description: "A JSON-RPC 2.0 message of the Model Context Protocol." });

const answer = z
  .object({
    jsonrpc: z.literal("2.0"),
    id: rpcId,
    result: jsonObjectSchema.optional(),
    error: z.object({ code: z.int(), message: z.string(), data: jsonValueSchema.optional() }).optional(),
  })
  .meta({ id: "McpAnswer", description: "The response to a request: a result or an error." });

const getRunTool: JsonObject = {
  name: GET_RUN,
  title: "Get a run",
  description:
    "Returns the status and the outputs so far of a run that one of these tools started and that was paused or still running.",
  inputSchema: {
    type: "object",
    properties: {
      run_id: { type: "string", format: "uuid" },
      wait_seconds: { type: "integer", minimum: 0, maximum: 110, description: "Seconds to wait for the run to finish" },
    },
    required: ["run_id"],
  },
  annotations: { readOnlyHint: true, openWorldHint: false },
};

/** Waits that a notification may end, keyed by session and request. */
const waits = new Map<string, AbortController>();

/** Registers a wait that a notification may end, until the response is sent. */
function cancellable(key: string, { res }: RequestContext): AbortSignal {
  const controller = new AbortController();
  waits.set(key, controller);
  res.once("close", () => {
    if (waits.get(key) === controller) waits.delete(key);
  });
  return controller.signal;
}

async function listTools(tools: FlowTools, principal: Principal, wanted: WantedTools, cursor: Json | undefined) {
  const beyond = cursor === undefined ? null : Buffer.from(asText(cursor), "base64url").toString();
  if (beyond !== null && !isUuid(beyond)) throw new RpcRefused(INVALID_PARAMS, "The cursor is not valid");
  const page = await tools.page(principal.org_id, wanted, beyond);
  if (page.next !== null) return { tools: page.tools, nextCursor: Buffer.from(page.next).toString("base64url") };
  return { tools: [...page.tools, getRunTool] };
}

const define = operationsOf({ tag: "Run Flow", auth: "public" }, ({ db, limits }) => ({
  tools: createFlowTools(db, limits),
}));

/** `POST /mcp`: published flows as tools of the Model Context Protocol, over Streamable HTTP. */
export const toolOperations = [
  define({
    id: "callMcp",
    audit: "run",
    route: "POST /mcp",
    summary: "Call flows as MCP tools",
    description: `Serves the published flows as tools of an MCP server over Streamable HTTP: \`initialize\`, \`ping\`, \`tools/list\` and \`tools/call\`. With
\`flow_id\` in the URL only these flows are tools; public keys must send it. With \`environment\` the tools are the flows
that have a version in that environment.

A tool call runs the flow and waits as long as the run operation. A run that is paused or still running is reported as such; call the tool
\`${GET_RUN}\` later for its result. A failed run returns a result with \`isError\`. A call repeated with its \`Idempotency-Key\`
returns the run of the first call, with \`_meta["millrace/run"].replayed\` and the header \`Idempotent-Replayed\` set. \`tools/call\`
streams server-sent events to clients that accept them, with progress if requested.

\`notifications/cancelled\` and disconnecting end the wait but never the run. \`GET\` and \`DELETE\` return 405: there is no stream to get and
no session to delete.`,
    query: z.object({
      flow_id: z
        .array(givenId)
        .max(MAX_FLOWS)
        .optional()
        .describe("Only these flows. Repeat the parameter for several."),
      environment: environmentName.default(PRODUCTION),
    }),
    headers: z.object({
      "mcp-protocol-version": z
        .string()
        .max(40)
        .optional()
        .describe(`One of ${MCP_VERSIONS.join(", ")}.`),
      "mcp-session-id": z.string().max(200).optional().describe("The protocol version that `initialize` returned."),
    }),
    body: message,
    textsIn: ["params", "arguments"],
    bodyLimit: "run",
    wideBody: true,
    idempotent: "claim",
    // A client that retries a call uses another ID and progress token, so they do not identify the call.
    sameness: ({ method, params: { _meta, ...params } = {} }) => {
      const { progressToken: _token, ...meta } = isObject(_meta) ? _meta : {};
      return { method, params, meta };
    },
    problems: [
      "bad_request",
      "not_found",
      "environment_not_found",
      "environment_empty",
      "too_many_concurrent_runs",
      "quota_exceeded",
      "service_unavailable",
    ],
    examples: {
      list: { jsonrpc: "2.0", id: 1, method: "tools/list" },
      call: { jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "greet", arguments: { "in-0": "Ada" } } },
    },
    success: {
      200: {
        description: "The response to a request, or a stream of server-sent events that ends with that response.",
        schema: answer,
        content: { [EVENT_STREAM]: answer },
        headers: { "Mcp-Session-Id": "Returned by `initialize`; send it with all later requests." },
      },
      202: { description: "The notification was accepted." },
    },
    async handler({ query, headers, body, principal, newId, repeated, signal, streamSignal, ctx }, deps) {
      requireOrigin(deps.config, ctx, principal);
      const version = headers["mcp-protocol-version"];
      if (version !== undefined && !MCP_VERSIONS.some((each) => each === version))
        throw new Problem("bad_request", `The protocol version must be one of ${MCP_VERSIONS.join(", ")}.`);
      const wanted = { flows: query.flow_id ?? null, environment: query.environment };
      if (principal.access === "public") requirePublicEnvironment(query.environment);
      if (wanted.flows === null && principal.access === "public")
        throw new Problem("forbidden", "With a public key the URL must name the flows: POST /mcp?flow_id=<id>.");
      const { id, method, params = {} } = body;
      const session = `${principal.id} ${headers["mcp-session-id"] ?? ""}`;
      if (id === undefined || method === undefined) {
        if (method === "notifications/cancelled") waits.get(`${session} ${asText(params["requestId"])}`)?.abort();
        return { status: 202 };
      }
      try {
        switch (method) {
          case "initialize": {
            const result = {
              protocolVersion: agreedVersion(params["protocolVersion"]),
              capabilities: { tools: {} },
              serverInfo: { name: "millrace", title: "Millrace", version: VERSION },
              instructions: "Each tool runs a deployed flow.",
            };
            return { status: 200, body: rpcResult(id, result), headers: { "Mcp-Session-Id": randomUUID() } };
          }
          case "ping":
            return { status: 200, body: rpcResult(id, {}) };
          case "tools/list": {
            const page = await listTools(deps.tools, principal, wanted, params["cursor"]);
            return { status: 200, body: rpcResult(id, page) };
          }
          case "tools/call": {
            const cancelled = cancellable(`${session} ${id}`, ctx);
            const { depth, ...read } = readCall(params);
            const caller = callerOfRequest(deps.secrets, principal.org_id, ctx.headers);
            // The header is reliable; the message counts only if a proxy has dropped the header.
            const started_by = caller === undefined || caller === "unknown" ? (depth ?? caller) : caller;
            const call = { ...read, started_by, id, principal, wanted, repeated, gone: signal };
            const whole: ToolCall = { ...call, run_id: newId(), cancelled };
            const run = await beginCall(deps, deps.tools, whole);
            if ("result" in run) return { status: 200, body: rpcResult(id, run.result) };
            const replay: Record<string, string> = run.replayed ? { "Idempotent-Replayed": "true" } : {};
            if (accepts(ctx.headers.accept))
              return answerStream(EVENT_STREAM, callEvents(deps, { ...whole, gone: streamSignal() }, run), replay);
            return { status: 200, body: rpcResult(id, await settledCall(deps, whole, run)), headers: replay };
          }
          default:
            return { status: 200, body: rpcError(id, METHOD_NOT_FOUND, `Unknown method: ${method}`) };
        }
      } catch (error) {
        if (!(error instanceof RpcRefused)) throw error;
        return { status: 200, body: rpcError(id, error.code, error.message) };
      }
    },
  }),
];

/** Clients have to accept both types; events carry more information. */
function accepts(header: string | undefined): boolean {
  return header?.toLowerCase().includes(EVENT_STREAM) === true;
}

function readCall(params: JsonObject): Pick<ToolCall, "name" | "arguments" | "progressToken"> & {
  readonly depth: number | null;
} {
  const { name, arguments: given = {}, _meta } = params;
  if (typeof name !== "string") throw new RpcRefused(INVALID_PARAMS, "params.name: must be text");
  if (!isObject(given)) throw new RpcRefused(INVALID_PARAMS, "params.arguments: must be an object");
  const meta = isObject(_meta) ? _meta : {};
  const { progressToken: token, [DEPTH]: depth = null } = meta;
  if (depth !== null && !(typeof depth === "number" && Number.isSafeInteger(depth) && depth >= 0))
    throw new RpcRefused(INVALID_PARAMS, `params._meta["${DEPTH}"]: must be a whole number`);
  const progressToken = typeof token === "string" || typeof token === "number" ? token : undefined;
  return { name, arguments: given, depth, progressToken };
}
