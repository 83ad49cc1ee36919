import { callerOfRequest } from "../../platform/fetch/own-calls.ts";
import { randomUUID } from "node:crypto";
import { z } from "zod";
import type { Principal } from "../../domain/accounts/principal.ts";
import { Problem } from "../../domain/errors.ts";
import { asText } from "../../domain/providers/action.ts";
import { GET_RUN } from "../../domain/flow/io/tool-names.ts";
import { jsonObjectSchema, jsonValueSchema } from "../../domain/json-schema.ts";
import { isObject } from "../../domain/json.ts";
import type { Json, JsonObject } from "../../domain/json.ts";
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
import { flowLimits } from "../../services/projects/deploy-flow.ts";
import { createFlowTools } from "../../services/projects/flow-tools.ts";
import { VERSION } from "../../version.ts";
import type { ApiDeps, ApiServices } from "../deps.ts";
import { answerStream, EVENT_STREAM } from "../http/event-stream.ts";
import { defineOperation } from "../http/operation.ts";
import type { Operation, RequestContext } from "../http/operation.ts";
import { requireOrigin } from "../http/require-origin.ts";
import { createToolCalls } from "./tool-calls.ts";
import type { ToolCall } from "./tool-calls.ts";

const MAX_FLOWS = 100;
const rpcId = z.union([z.string().max(200), z.int()]);

const message = z
  .looseObject({
    jsonrpc: z.literal("2.0"),
    id: rpcId.optional().describe("The id of a request; a notification has none."),
    method: z.string().max(200).optional().describe("Absent in an answer of the client."),
    params: jsonObjectSchema.optional(),
  })
  .meta({ id: "McpMessage", description: "A message of JSON-RPC 2.0, as the Model Context Protocol has them." });

const answer = z
  .object({
    jsonrpc: z.literal("2.0"),
    id: rpcId,
    result: jsonObjectSchema.optional(),
    error: z.object({ code: z.int(), message: z.string(), data: jsonValueSchema.optional() }).optional(),
  })
  .meta({ id: "McpAnswer", description: "The answer to a request: a result or an error." });

const getRunTool: JsonObject = {
  name: GET_RUN,
  title: "Get a run",
  description: "Tells how a run of one of these tools stands that was paused or had not ended, and its outputs so far.",
  inputSchema: {
    type: "object",
    properties: {
      run_id: { type: "string", format: "uuid" },
      wait_seconds: { type: "integer", minimum: 0, maximum: 110, description: "Waits so long for its end" },
    },
    required: ["run_id"],
  },
  annotations: { readOnlyHint: true, openWorldHint: false },
};

/** `POST /mcp`: the published flows as tools of the Model Context Protocol, over Streamable HTTP. */
export function createToolOperations(deps: ApiDeps, services: ApiServices): Operation[] {
  const { config, db } = deps;
  const tools = createFlowTools(db, flowLimits(config));
  const calls = createToolCalls(deps, services, tools);
  /** Waits that a notification may end, by session and request. */
  const waits = new Map<string, AbortController>();

  async function listTools(principal: Principal, wanted: readonly string[] | null, cursor: Json | undefined) {
    const beyond = cursor === undefined ? null : Buffer.from(asText(cursor), "base64url").toString();
    if (beyond !== null && !isUuid(beyond)) throw new RpcRefused(INVALID_PARAMS, "The cursor is not one of ours");
    const page = await tools.page(principal.org_id, wanted, beyond);
    if (page.next !== null) return { tools: page.tools, nextCursor: Buffer.from(page.next).toString("base64url") };
    return { tools: [...page.tools, getRunTool] };
  }

  /** A wait that a notification may end, until the answer is out. */
  function cancellable(key: string, { res }: RequestContext): AbortSignal {
    const controller = new AbortController();
    waits.set(key, controller);
    res.once("close", () => {
      if (waits.get(key) === controller) waits.delete(key);
    });
    return controller.signal;
  }

  return [
    defineOperation({
      id: "callMcp",
      audit: "run",
      method: "POST",
      path: "/mcp",
      tag: "Run Flow",
      summary: "Published flows as tools (Model Context Protocol)",
      description: `An MCP server over Streamable HTTP: \`initialize\`, \`ping\`, \`tools/list\` and \`tools/call\`. Each published flow of the
organisation is a tool; with \`flow_id\` in the address, only these flows are. A public key has to name them so. A call runs the flow
as the run operation does and waits as long; a run that is paused or still running is reported as such, and the tool \`${GET_RUN}\` tells more later. A
run that fails is a result with \`isError\`. \`tools/call\` answers server-sent events where the client accepts them, with progress where it
asks for it. \`notifications/cancelled\`, and a client that goes away, end the wait and never the run. There is no stream to \`GET\` and no session to \`DELETE\`: 405.`,
      auth: "public",
      query: z.object({
        flow_id: z
          .array(z.uuid().toLowerCase())
          .max(MAX_FLOWS)
          .optional()
          .describe("Only these flows; give it more than once for several."),
      }),
      headers: z.object({
        "mcp-protocol-version": z
          .string()
          .max(40)
          .optional()
          .describe(`One of ${MCP_VERSIONS.join(", ")}.`),
        "mcp-session-id": z.string().max(200).optional().describe("The version that `initialize` answered."),
      }),
      body: message,
      bodyLimit: "run",
      wideBody: true,
      idempotent: "claim",
      // A client that retries a call uses another id, and another token for its progress.
      sameness: ({ method, params: { _meta, ...params } = {} }) => {
        const { progressToken: _token, ...meta } = isObject(_meta) ? _meta : {};
        return { method, params, meta };
      },
      problems: ["bad_request", "not_found", "too_many_concurrent_runs", "quota_exceeded", "service_unavailable"],
      examples: {
        list: { jsonrpc: "2.0", id: 1, method: "tools/list" },
        call: { jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "greet", arguments: { "in-0": "Ada" } } },
      },
      success: {
        200: {
          description: "The answer to a request, or server-sent events of messages that end with the answer.",
          schema: answer,
          content: { [EVENT_STREAM]: answer },
          headers: { "Mcp-Session-Id": "With `initialize`: to be sent with what follows." },
        },
        202: { description: "A notification was taken." },
      },
      async handler({ query, headers, body, principal, newId, repeated, signal, streamSignal, ctx }) {
        requireOrigin(config, ctx, principal);
        const version = headers["mcp-protocol-version"];
        if (version !== undefined && !MCP_VERSIONS.some((each) => each === version))
          throw new Problem("bad_request", `The protocol version must be one of ${MCP_VERSIONS.join(", ")}.`);
        const wanted = query.flow_id ?? null;
        if (wanted === null && principal.access === "public")
          throw new Problem("forbidden", "With a public key the address names the flows: POST /mcp?flow_id=<id>.");
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
              const page = await listTools(principal, wanted, params["cursor"]);
              return { status: 200, body: rpcResult(id, page) };
            }
            case "tools/call": {
              const cancelled = cancellable(`${session} ${id}`, ctx);
              const { depth, ...read } = readCall(params);
              const caller = callerOfRequest(deps.secrets, principal.org_id, ctx.headers);
              // What the header says is certain; what the message says counts where a proxy has dropped the header.
              const started_by = caller === undefined || caller === "unknown" ? (depth ?? caller) : caller;
              const call = { ...read, started_by, id, principal, wanted, repeated, gone: signal };
              const whole: ToolCall = { ...call, run_id: newId(), cancelled };
              const run = await calls.begin(whole);
              if ("result" in run) return { status: 200, body: rpcResult(id, run.result) };
              if (accepts(ctx.headers.accept))
                return answerStream(EVENT_STREAM, calls.events({ ...whole, gone: streamSignal() }, run));
              return { status: 200, body: rpcResult(id, await calls.settled(whole, run)) };
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
}

/** Clients list both types, as they must; events tell more. */
function accepts(header: string | undefined): boolean {
  return header?.toLowerCase().includes(EVENT_STREAM) === true;
}

function readCall(params: JsonObject): Pick<ToolCall, "name" | "arguments" | "progressToken"> & {
  readonly depth: number | null;
} {
  const { name, arguments: given = {}, _meta } = params;
  if (typeof name !== "string") throw new RpcRefused(INVALID_PARAMS, "params.name: a text is expected");
  if (!isObject(given)) throw new RpcRefused(INVALID_PARAMS, "params.arguments: an object is expected");
  const meta = isObject(_meta) ? _meta : {};
  const { progressToken: token, [DEPTH]: depth = null } = meta;
  if (depth !== null && !(typeof depth === "number" && Number.isSafeInteger(depth) && depth >= 0))
    throw new RpcRefused(INVALID_PARAMS, `params._meta["${DEPTH}"]: a whole number is expected`);
  const progressToken = typeof token === "string" || typeof token === "number" ? token : undefined;
  return { name, arguments: given, depth, progressToken };
}
