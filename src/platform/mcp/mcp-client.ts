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
import type { FetchLimits, GuardedFetch } from "../fetch/guarded-fetch.ts";

/** The signal of the caller limits the time; the SDK's own time-outs only need to be longer. */
const NO_TIMEOUT_MS = 2 ** 31 - 1;
/** How long the end of a session may take; nobody waits for it. */
const GOODBYE_MS = 1000;
const MAX_PAGES = 500;
/** How many questions of a server are answered in a session: it may ask for anything, and each answer is a request of ours. */
const MAX_ANSWERS = 50;
/** Shortest time between a stream that ends and the request that goes on with it; a server may ask for less. */
const MIN_RESUME_MS = 250;
const QUOTED_CHARS = 500;

/** Sends a request authenticated; without a connection as it is. */
export type SendAuthorized = (call: (authorization: Authorization) => Promise<Response>) => Promise<Response>;

export interface McpServer {
  readonly url: string;
  readonly send: SendAuthorized;
  readonly signal: AbortSignal;
  readonly limits?: Partial<FetchLimits>;
}

/** What a tool answered. */
export interface ToolResult {
  readonly content: readonly JsonObject[];
  readonly structured: Json | undefined;
  readonly isError: boolean;
}

/** How far a call is, in the server's own units. */
export interface ToolProgress {
  readonly progress: number;
  readonly total?: number | undefined;
}

export interface McpClient {
  /** Rejects with the signal's reason, NodeFailure, FetchRefused or FetchFailed, as everything here. */
  listTools(server: McpServer, maxTools: number): Promise<McpListing>;
  /** `begin` is awaited right before the call. */
  callTool(
    server: McpServer,
    call: { readonly name: string; readonly arguments: JsonObject; readonly _meta: JsonObject },
    hooks: { readonly begin: () => Promise<void>; readonly onProgress: (progress: ToolProgress) => void },
  ): Promise<ToolResult>;
  /** Begins a session and ends it again. */
  greet(server: McpServer): Promise<void>;
}

const toolsPage = z.looseObject({ tools: z.array(jsonValueSchema), nextCursor: z.string().optional() });
const toolAnswer = z.looseObject({
  content: z.array(jsonObjectSchema).default([]),
  structuredContent: jsonValueSchema.optional(),
  isError: z.boolean().default(false),
});

/**
 * A client of MCP servers over Streamable HTTP; there is no other transport. Each use is a session of its own: what a server keeps
 * in one is never seen by another caller.
 */
export function createMcpClient(guarded: Pick<GuardedFetch, "open">, version: string): McpClient {
  async function open(server: McpServer, exact: boolean): Promise<Session> {
    const notices = new Set<Promise<unknown>>();
    const transport = new ModestTransport(new URL(server.url), {
      fetch: fetchOf(guarded, server, { notices, exact }),
      reconnectionScheduler: (reconnect, delay) => {
        const timer = setTimeout(reconnect, Math.max(delay, MIN_RESUME_MS));
        return () => clearTimeout(timer);
      },
    });
    // No capabilities: if a server asks back (for a sampling, an elicitation), the answer is that nobody is there.
    const client = new Client({ name: "millrace", version }, { capabilities: {} });
    const close = async (): Promise<void> => {
      // Messages under way, such as a cancellation, should arrive.
      await inTime(Promise.allSettled(notices));
      await inTime(transport.terminateSession().catch(() => undefined));
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

  /** A server may forget a session at any time, and says so by 404: then it has done nothing, and is asked in a new one. */
  async function inSession<T>(
    server: McpServer,
    work: (client: Client) => Promise<T>,
    { exact = false } = {},
  ): Promise<T> {
    try {
      let session = await open(server, exact);
      try {
        return await work(session.client);
      } catch (error) {
        if (!(error instanceof SdkHttpError && error.status === 404 && session.hasId())) throw error;
        await session.close();
        session = await open(server, exact);
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
      return inSession(
        server,
        async (client) => {
          // Once, also where the session that it was first sent in was unknown.
          await (beginning ??= begin());
          const answer = await client.request({ method: "tools/call", params: { ...call } }, toolAnswer, {
            ...options(server),
            onprogress: ({ progress, total }) => onProgress({ progress, total }),
          });
          return { content: answer.content, structured: answer.structuredContent, isError: answer.isError };
        },
        { exact: true },
      );
    },
  };
}

/** Answers a server's questions only as often as one that means well asks: without an answer it goes on or is left. */
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
 * The guarded fetch with what authenticates a request. `notices` has what is being said that nobody waits for. With `exact` no number of an
 * answer is rounded; not where tools are listed, as a bound of a JSON Schema must stay a number.
 */
function fetchOf(
  guarded: Pick<GuardedFetch, "open">,
  { send, limits }: McpServer,
  { notices, exact }: { readonly notices: Set<Promise<unknown>>; readonly exact: boolean },
): typeof fetch {
  return (input, init) => {
    const resumes = new Headers(init?.headers).has("last-event-id");
    // The client needs no notifications (changed lists), only the rest of an answer that broke off.
    if (init?.method === "GET" && !resumes) return Promise.resolve(new Response(null, { status: 405 }));
    const answer = send(async ({ headers, query }) => {
      const url = new URL(input instanceof Request ? input.url : input);
      for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
      const authenticated = new Headers(init?.headers);
      for (const [name, value] of Object.entries(headers)) authenticated.set(name, value);
      const adapter = fetchAdapter(guarded, { limits: limits ?? {}, secretHeaders: Object.keys(headers) });
      const response = await adapter(url, { ...init, headers: authenticated });
      if (response.status !== 401) return exact ? withUrl(exactAnswer(response), response.url) : response;
      // Read, since another request may follow.
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
  let timer: NodeJS.Timeout | undefined;
  await Promise.race([work, new Promise((resolve) => (timer = setTimeout(resolve, GOODBYE_MS)))]);
  clearTimeout(timer);
}

/** The failure in our own terms. */
function failureOf(error: unknown, origin: string): unknown {
  for (let each = error, depth = 0; each instanceof Error && depth < 5; each = each.cause, depth += 1) {
    if (each instanceof FetchFailed || each instanceof FetchRefused || each instanceof NodeFailure) return each;
  }
  if (error instanceof SdkHttpError) return statusFailure(error, origin);
  if (error instanceof ProtocolError) {
    const message = `${origin} refused: ${error.message.slice(0, QUOTED_CHARS)} (${error.code})`;
    return new NodeFailure("mcp_error", message, { upstream: true, cause: error });
  }
  if (error instanceof SdkError && ["CONNECTION_CLOSED", "SEND_FAILED", "REQUEST_TIMEOUT"].includes(error.code))
    return new FetchFailed("connection_failed", `${origin} ended the connection before it answered.`, { cause: error });
  if (!(error instanceof Error) || error instanceof TypeError) return error;
  const message = `${origin} does not answer as an MCP server over Streamable HTTP does: ${error.message.slice(0, QUOTED_CHARS)}`;
  return new NodeFailure("mcp_error", message, { upstream: true, cause: error });
}

function statusFailure({ status, data }: SdkHttpError, origin: string): NodeFailure {
  const text = typeof data["text"] === "string" ? data["text"].trim().slice(0, QUOTED_CHARS) : "";
  return new NodeFailure("http_status", `${origin} answered ${status}${text === "" ? "" : `: ${text}`}`, {
    upstream: true,
    upstream_status: status,
    retryable: status === 408 || status === 425 || status === 429 || status >= 500,
  });
}
