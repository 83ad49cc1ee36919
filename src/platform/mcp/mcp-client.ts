import {
  Client,
  ProtocolError,
  SdkError,
  SdkHttpError,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { z } from "zod";
import { jsonObjectSchema, jsonValueSchema } from "../../domain/json-schema.ts";
import type { Json, JsonObject } from "../../domain/json.ts";
import type { Authorization } from "../../domain/providers/connection.ts";
import type { McpListing } from "../../domain/providers/mcp/tools.ts";
import { NodeFailure } from "../../domain/runs/failure.ts";
import { fetchAdapter } from "../fetch/fetch-adapter.ts";
import { FetchFailed, FetchRefused } from "../fetch/guarded-fetch-errors.ts";
import { exactAnswer } from "./exact-answer.ts";
import { within } from "../within.ts";
import type { FetchLimits, GuardedFetch } from "../fetch/guarded-fetch.ts";

/** The caller's signal limits the time; the SDK's own time-outs only need to be longer. */
const NO_TIMEOUT_MS = 2 ** 31 - 1;
/** How long closing a session may take in the background. */
const GOODBYE_MS = 1000;
const MAX_PAGES = 500;
/** Most requests of a server that get a reply in one session, because each reply is a request from us. */
const MAX_ANSWERS = 50;
/** Shortest time between the end of a stream and the request that resumes it (ms); a server may ask for less. */
const MIN_RESUME_MS = 250;
const QUOTED_CHARS = 500;

/** Sends a request with the connection's credential; without a connection, unchanged. */
export type SendAuthorized = (call: (authorization: Authorization) => Promise<Response>) => Promise<Response>;

export interface McpServer {
  readonly url: string;
  readonly send: SendAuthorized;
  readonly signal: AbortSignal;
  readonly limits?: Partial<FetchLimits>;
}

/** The result of a tool call. */
export interface ToolResult {
  readonly content: readonly JsonObject[];
  readonly structured: Json | undefined;
  readonly isError: boolean;
}

/** The progress of a call, in the server's own units. */
export interface ToolProgress {
  readonly progress: number;
  readonly total?: number | undefined;
}

export interface McpClient {
  /** Like every method here, rejects with the signal's reason, NodeFailure, FetchRefused or FetchFailed. */
  listTools(server: McpServer, maxTools: number): Promise<McpListing>;
  /** `begin` is awaited right before the call. */
  callTool(
    server: McpServer,
    call: { readonly name: string; readonly arguments: JsonObject; readonly _meta: JsonObject },
    hooks: { readonly begin: () => Promise<void>; readonly onProgress: (progress: ToolProgress) => void },
  ): Promise<ToolResult>;
  /** Opens a session and closes it again. */
  greet(server: McpServer): Promise<void>;
}

const toolsPage = z.looseObject({ tools: z.array(jsonValueSchema), nextCursor: z.string().optional() });
const toolAnswer = z.looseObject({
  content: z.array(jsonObjectSchema).default([]),
  structuredContent: jsonValueSchema.optional(),
  isError: z.boolean().default(false),
});

/**
 * A client of MCP servers over Streamable HTTP, the only transport. Each use opens its own session, so that no other caller sees what a
 * server keeps in it.
 */
export function createMcpClient(guarded: Pick<GuardedFetch, "open">, version: string): McpClient {
  async function open(server: McpServer): Promise<Session> {
    const notices = new Set<Promise<unknown>>();
    const transport = new ModestTransport(new URL(server.url), {
      fetch: fetchOf(guarded, server, notices),
      reconnectionScheduler: (reconnect, delay) => {
        const timer = setTimeout(reconnect, Math.max(delay, MIN_RESUME_MS));
        return () => clearTimeout(timer);
      },
    });
    // Declares no capabilities, so that a server's request (sampling, elicitation) gets an error.
    const client = new Client({ name: "millrace", version }, { capabilities: {} });
    const close = async (): Promise<void> => {
      // Lets notifications that are being sent, such as a cancellation, arrive before the session ends.
      await inTime(Promise.allSettled(notices));
      await inTime(transport.terminateSession());
      await client.close();
    };
    try {
      await client.connect(transport, options(server));
    } catch (error) {
      await close();
      throw error;
    }
    return { client, close, hasId: () => transport.sessionId !== undefined };
  }

  /**
   * A server may drop a session at any time and reports that with 404. The request then had no effect, so it is retried in a new session.
   */
  async function inSession<T>(server: McpServer, work: (client: Client) => Promise<T>): Promise<T> {
    try {
      let session = await open(server);
      try {
        return await work(session.client);
      } catch (error) {
        if (!(error instanceof SdkHttpError && error.status === 404 && session.hasId())) throw error;
        await session.close();
        session = await open(server);
        return await work(session.client);
      } finally {
        await session.close();
      }
    } catch (error) {
      throw server.signal.aborted ? server.signal.reason : failureOf(error, new URL(server.url).origin);
    }
  }

  return {
    greet: (server) => inSession(server, async () => undefined),

    listTools: (server, maxTools) =>
      inSession(server, async (client) => {
        const tools: Json[] = [];
        let cursor: string | undefined;
        for (let page = 0; page < MAX_PAGES && tools.length <= maxTools; page += 1) {
          const params = cursor === undefined ? {} : { cursor };
          const answer = await client.request({ method: "tools/list", params }, toolsPage, options(server));
          tools.push(...answer.tools);
          if (answer.nextCursor === undefined || answer.nextCursor === cursor) break;
          cursor = answer.nextCursor;
        }
        const { name = "", title = "", version: its = "" } = client.getServerVersion() ?? {};
        return { server: { name, title, version: its, instructions: client.getInstructions() ?? "" }, tools };
      }),

    callTool(server, call, { begin, onProgress }) {
      let beginning: Promise<void> | undefined;
      return inSession(server, async (client) => {
        // Called only once, even if the request is retried in a new session.
        await (beginning ??= begin());
        const answer = await client.request({ method: "tools/call", params: { ...call } }, toolAnswer, {
          ...options(server),
          onprogress: ({ progress, total }) => onProgress({ progress, total }),
        });
        return { content: answer.content, structured: answer.structuredContent, isError: answer.isError };
      });
    },
  };
}

/** Replies to at most MAX_ANSWERS requests of a server; further ones get no reply. */
class ModestTransport extends StreamableHTTPClientTransport {
  #answers = 0;

  override async send(...[message, ...rest]: Parameters<StreamableHTTPClientTransport["send"]>): Promise<void> {
    if (!Array.isArray(message) && !("method" in message) && ++this.#answers > MAX_ANSWERS) return;
    await super.send(message, ...rest);
  }
}

interface Session {
  readonly client: Client;
  close(): Promise<void>;
  hasId(): boolean;
}

function options({ signal }: McpServer): { signal: AbortSignal; timeout: number } {
  return { signal, timeout: NO_TIMEOUT_MS };
}

/**
 * The guarded fetch with the request's credentials. `notices` collects notifications that are being sent in the background. Numbers in
 * responses are not rounded.
 */
function fetchOf(
  guarded: Pick<GuardedFetch, "open">,
  { send, limits }: McpServer,
  notices: Set<Promise<unknown>>,
): typeof fetch {
  return (input, init) => {
    const resumes = new Headers(init?.headers).has("last-event-id");
    // GET is used only to resume a broken response; the client needs no notifications (changed lists).
    if (init?.method === "GET" && !resumes) return Promise.resolve(new Response(null, { status: 405 }));
    const answer = send(async ({ headers, query }) => {
      const url = new URL(input instanceof Request ? input.url : input);
      for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
      const authenticated = new Headers(init?.headers);
      for (const [name, value] of Object.entries(headers)) authenticated.set(name, value);
      const adapter = fetchAdapter(guarded, { limits: limits ?? {}, secretHeaders: Object.keys(headers) });
      const response = await adapter(url, { ...init, headers: authenticated });
      if (response.status !== 401) return withUrl(exactAnswer(response), response.url);
      // The body is read here, because another request may follow a 401.
      const text = (await response.text()).slice(0, QUOTED_CHARS);
      return withUrl(new Response(text, { status: 401 }), response.url);
    });
    if (typeof init?.body === "string" && init.body.includes('"method":"notifications/')) {
      notices.add(answer);
      answer.then(
        () => notices.delete(answer),
        () => notices.delete(answer),
      );
    }
    return answer;
  };
}

function withUrl(response: Response, url: string): Response {
  return Object.defineProperty(response, "url", { value: url });
}

async function inTime(work: Promise<unknown>): Promise<void> {
  await within(GOODBYE_MS, work).catch(() => undefined);
}

/** Converts an error to one of Millrace's own errors. */
function failureOf(error: unknown, origin: string): unknown {
  for (let each = error, depth = 0; each instanceof Error && depth < 5; each = each.cause, depth += 1) {
    if (each instanceof FetchFailed || each instanceof FetchRefused || each instanceof NodeFailure) return each;
  }
  if (error instanceof SdkHttpError) return statusFailure(error, origin);
  if (error instanceof ProtocolError) {
    const message = `${origin} rejected the request: ${error.message.slice(0, QUOTED_CHARS)} (${error.code})`;
    return new NodeFailure("mcp_error", message, { upstream: true, cause: error });
  }
  if (error instanceof SdkError && ["CONNECTION_CLOSED", "SEND_FAILED", "REQUEST_TIMEOUT"].includes(error.code))
    return new FetchFailed("connection_failed", `${origin} closed the connection before it responded.`, {
      cause: error,
    });
  if (!(error instanceof Error) || error instanceof TypeError) return error;
  const message = `${origin} does not respond like an MCP server (Streamable HTTP): ${error.message.slice(0, QUOTED_CHARS)}`;
  return new NodeFailure("mcp_error", message, { upstream: true, cause: error });
}

function statusFailure({ status, data }: SdkHttpError, origin: string): NodeFailure {
  const text = typeof data["text"] === "string" ? data["text"].trim().slice(0, QUOTED_CHARS) : "";
  return new NodeFailure("http_status", `${origin} returned status ${status}${text === "" ? "" : `: ${text}`}`, {
    upstream: true,
    upstream_status: status,
    retryable: status === 408 || status === 425 || status === 429 || status >= 500,
  });
}
