import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import {
  CallToolRequestSchema,
  ListToolsRequestSchema,
  type CallToolResult,
  type Tool,
} from "@modelcontextprotocol/sdk/types.js";

const PAGE = 3;
const object = (properties: Record<string, object> = {}, required: string[] = []): Tool["inputSchema"] => ({
  type: "object",
  properties,
  required,
});

/** The tools that the server has at the start. */
const TOOLS: readonly Tool[] = [
  {
    name: "add",
    title: "Add numbers",
    description: "Adds two numbers",
    inputSchema: {
      ...object({ a: { type: "number" }, b: { type: "number" } }, ["a", "b"]),
      $schema: "http://json-schema.org/draft-07/schema#",
    },
    outputSchema: object({ sum: { type: "number" } }, ["sum"]),
    annotations: { readOnlyHint: true },
  },
  {
    name: "place order",
    description: "Places an order",
    inputSchema: object(),
    annotations: { destructiveHint: false },
  },
  { name: "set", inputSchema: object(), annotations: { idempotentHint: true } },
  { name: "fail", inputSchema: object() },
  { name: "slow", inputSchema: object() },
  { name: "break", inputSchema: object() },
  { name: "huge", inputSchema: object(), annotations: { readOnlyHint: true } },
];

/** A real MCP server over Streamable HTTP, built with the official SDK. */
export interface McpTestServer {
  readonly url: string;
  readonly port: number;
  /** The tools by name; changes appear in the next listing. */
  tools: Tool[];
  /** Names of called tools, in order. */
  readonly calls: string[];
  /** Calls of `slow` that the client has cancelled. */
  cancelled: number;
  /** HTTP methods and headers of all requests. */
  readonly requests: Array<{
    readonly method: string;
    readonly headers: IncomingMessage["headers"];
    readonly url: string;
  }>;
  /** Number of open sessions. */
  sessions(): number;
  /** Forgets all sessions once, as after a restart. */
  forgetAtNextCall(): void;
  close(): Promise<void>;
}

/** `allow` decides whether a request may pass; otherwise the response is 401. With `json`, responses are JSON instead of event streams. */
export async function startMcpServer(
  options: { json?: boolean; stateless?: boolean; allow?: (request: IncomingMessage) => boolean } = {},
): Promise<McpTestServer> {
  const transports = new Map<string, StreamableHTTPServerTransport>();
  let forget = false;

  async function open(): Promise<StreamableHTTPServerTransport> {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: options.stateless ? undefined : () => randomUUID(),
      enableJsonResponse: options.json ?? false,
      onsessioninitialized: (id) => void transports.set(id, transport),
    } as ConstructorParameters<typeof StreamableHTTPServerTransport>[0]);
    transport.onclose = () => void transports.delete(transport.sessionId ?? "");
    const server = new Server(
      { name: "test-tools", title: "Test Tools", version: "2.1.0" },
      { capabilities: { tools: {} }, instructions: "Tools for tests." },
    );
    server.setRequestHandler(ListToolsRequestSchema, ({ params }) => {
      const from = Number(params?.cursor ?? 0);
      const next = from + PAGE < state.tools.length ? { nextCursor: String(from + PAGE) } : {};
      return { tools: state.tools.slice(from, from + PAGE), ...next };
    });
    server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra): Promise<CallToolResult> => {
      state.calls.push(params.name);
      const args = params.arguments ?? {};
      switch (params.name) {
        case "add": {
          const sum = Number(args["a"]) + Number(args["b"]);
          return { content: [{ type: "text", text: `It is ${sum}` }], structuredContent: { sum } };
        }
        case "fail":
          if (args["structured"] === true)
            return { isError: true, content: [], structuredContent: { reason: "no_stock", left: 0 } };
          return { isError: true, content: [{ type: "text", text: "The shelf is empty" }] };
        case "slow": {
          const progressToken = extra._meta?.progressToken;
          for (let progress = 1; !extra.signal.aborted; progress += 1) {
            if (progressToken !== undefined) {
              const note = { progressToken, progress, total: 1000 };
              await extra.sendNotification({ method: "notifications/progress", params: note });
            }
            await new Promise((resolve) => setTimeout(resolve, 50));
          }
          state.cancelled += 1;
          return { content: [] };
        }
        case "break":
          for (const socket of sockets) socket.destroy();
          return { content: [] };
        case "huge":
          return { content: [{ type: "text", text: "x".repeat(30 * 1024 * 1024) }] };
        default:
          return { content: [{ type: "text", text: `${params.name} is done` }] };
      }
    });
    await server.connect(transport);
    return transport;
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "", headers, url = "" } = request;
    state.requests.push({ method, headers, url });
    if (options.allow?.(request) === false) return void response.writeHead(401).end("who are you?");
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body: unknown = chunks.length === 0 ? undefined : JSON.parse(Buffer.concat(chunks).toString());
    if (forget && (body as { method?: string } | undefined)?.method?.startsWith("tools/")) {
      forget = false;
      transports.clear();
    }
    const id = headers["mcp-session-id"];
    const known = typeof id === "string" ? transports.get(id) : undefined;
    if (id !== undefined && known === undefined) return void response.writeHead(404).end();
    await (known ?? (await open())).handleRequest(request, response, body);
  }

  const http = createServer((request, response) => {
    serve(request, response).catch((error: unknown) => response.writeHead(500).end(String(error)));
  });
  const sockets = new Set<{ destroy(): void }>();
  http.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket)).on("error", () => undefined);
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const { port } = http.address() as AddressInfo;
  const state: McpTestServer = {
    url: `http://127.0.0.1:${port}/mcp`,
    port,
    tools: [...TOOLS],
    calls: [],
    cancelled: 0,
    requests: [],
    sessions: () => transports.size,
    forgetAtNextCall: () => void (forget = true),
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => http.close(resolve));
    },
  };
  return state;
}
