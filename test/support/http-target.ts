import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/** A request as it arrived. */
export interface ReceivedRequest {
  readonly method: string;
  /** Path with query. */
  readonly url: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** The request's Idempotency-Key, or undefined. */
  readonly key: string | undefined;
  /** The local address that received the request. */
  readonly localAddress: string | undefined;
  readonly at: number;
}

export type TargetHandler = (
  request: ReceivedRequest,
  response: ServerResponse,
  socket: Socket,
) => void | Promise<void>;

/** A real HTTP server that represents external services. */
export interface HttpTarget {
  /** Like "http://127.0.0.1:40123", without a trailing slash. */
  readonly url: string;
  readonly port: number;
  /** Every request that arrived completely, in order. */
  readonly requests: readonly ReceivedRequest[];
  /** Requests that carried this Idempotency-Key. */
  count(key: string): number;
  /** Number of requests by Idempotency-Key; more than 1 means a repeated call. */
  counts(): ReadonlyMap<string, number>;
  /** Requests to this path. */
  hits(path: string): number;
  /** Open connections, including idle ones. */
  connections(): number;
  /** Requests without a response so far. */
  active(): number;
  /** Sets the handler of a path, before any built-in one. */
  on(path: string, handler: TargetHandler): void;
  /** Sets the handler of every path. */
  onEvery(handler: TargetHandler): void;
  /** Holds back the responses of a path until the returned function is called. */
  hold(path: string): () => void;
  /** Deletes requests, counts and handlers. */
  reset(): void;
  close(): Promise<void>;
}

/**
 * Starts a target on a free port. Built-in paths (parameters by query, all optional):
 * - `/echo` returns method, url, headers and body as JSON; so does every path without a handler
 * - `/status?code=500&body=&retry_after=` returns that status
 * - `/flaky?times=2&code=503` fails that often per Idempotency-Key (or for all requests without one), then returns 200
 * - `/delay?ms=1000` responds after a delay
 * - `/stream?chunk=16384&every=0` sends chunks without end; `/hang` accepts the request and never responds
 * - `/redirect?to=<url>&code=302` and `/loop`
 * - `/reset?after=0` closes the connection after this many bytes of a body
 * - `/bytes?n=1024&type=` sends n bytes; `/text?type=text/plain&body=` sends that text
 */
export async function startHttpTarget(options: { host?: string; port?: number } = {}): Promise<HttpTarget> {
  const host = options.host ?? "127.0.0.1";
  const requests: ReceivedRequest[] = [];
  const byKey = new Map<string, number>();
  const failures = new Map<string, number>();
  const handlers = new Map<string, TargetHandler>();
  const sockets = new Set<Socket>();
  let active = 0;
  let every: TargetHandler | undefined;

  const server = createServer((incoming, response) => {
    void serve(incoming, response).catch(() => incoming.socket.destroy());
  });
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket)).on("error", () => undefined);
  });

  async function serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const request = await receive(incoming);
    requests.push(request);
    active += 1;
    response.once("close", () => (active -= 1));
    if (request.key !== undefined) byKey.set(request.key, (byKey.get(request.key) ?? 0) + 1);
    const handler = every ?? handlers.get(request.path) ?? BUILT_IN[request.path] ?? echo;
    await handler(request, response, incoming.socket);
  }

  const flaky: TargetHandler = (request, response) => {
    const query = parameters(request);
    const id = `${request.url} ${request.key ?? ""}`;
    const failed = failures.get(id) ?? 0;
    if (failed >= Number(query.get("times") ?? 1)) return echo(request, response);
    failures.set(id, failed + 1);
    response.writeHead(Number(query.get("code") ?? 503), { "content-type": "text/plain" }).end("not yet");
  };
  handlers.set("/flaky", flaky);

  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(options.port ?? 0, host, resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(":") ? `[${host}]` : host}:${port}`,
    port,
    requests,
    count: (key) => byKey.get(key) ?? 0,
    counts: () => byKey,
    hits: (path) => requests.filter((request) => request.path === path).length,
    connections: () => sockets.size,
    active: () => active,
    on: (path, handler) => void handlers.set(path, handler),
    onEvery: (handler) => void (every = handler),
    hold(path) {
      let release = (): void => undefined;
      const released = new Promise<void>((resolve) => (release = resolve));
      handlers.set(path, async (request, response) => {
        await released;
        echo(request, response);
      });
      return release;
    },
    reset() {
      requests.length = 0;
      byKey.clear();
      failures.clear();
      handlers.clear();
      handlers.set("/flaky", flaky);
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** The query parameters of a request. */
function parameters(request: ReceivedRequest): URLSearchParams {
  return new URL(request.url, "http://target").searchParams;
}

async function receive(incoming: IncomingMessage): Promise<ReceivedRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  const headers = Object.fromEntries(
    Object.entries(incoming.headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(", ") : (value ?? ""),
    ]),
  );
  const url = incoming.url ?? "/";
  return {
    method: incoming.method ?? "",
    url,
    path: url.replace(/\?.*$/, ""),
    headers,
    body: Buffer.concat(chunks).toString(),
    key: headers["idempotency-key"],
    localAddress: incoming.socket.localAddress,
    at: Date.now(),
  };
}

function echo(request: ReceivedRequest, response: ServerResponse): void {
  const { method, url, headers, body } = request;
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ method, url, headers, body }));
}

const BUILT_IN: Readonly<Record<string, TargetHandler>> = {
  "/status": (request, response) => {
    const query = parameters(request);
    const after = query.get("retry_after");
    if (after !== null) response.setHeader("retry-after", after);
    response.writeHead(Number(query.get("code") ?? 500)).end(query.get("body") ?? "");
  },
  "/delay": async (request, response) => {
    await sleep(Number(parameters(request).get("ms") ?? 1000));
    echo(request, response);
  },
  "/hang": () => undefined,
  "/stream": async (request, response, socket) => {
    const query = parameters(request);
    const chunk = Buffer.alloc(Number(query.get("chunk") ?? 16_384), "x");
    const closed = new Promise<void>((resolve) => void socket.once("close", () => resolve()));
    response.writeHead(200, { "content-type": "text/plain" });
    while (!socket.destroyed) {
      if (!response.write(chunk)) {
        await Promise.race([closed, new Promise<void>((resolve) => void response.once("drain", resolve))]);
      }
      await sleep(Number(query.get("every") ?? 0));
    }
  },
  "/redirect": (request, response) => {
    const query = parameters(request);
    response.writeHead(Number(query.get("code") ?? 302), { location: query.get("to") ?? "/echo" }).end("moved");
  },
  "/loop": (_request, response) => void response.writeHead(302, { location: "/loop" }).end(),
  "/reset": (request, response, socket) => {
    const after = Number(parameters(request).get("after") ?? 0);
    if (after === 0) return void socket.resetAndDestroy();
    response.writeHead(200, { "content-type": "text/plain", "content-length": after * 2 });
    response.write("x".repeat(after), () => socket.resetAndDestroy());
  },
  "/bytes": (request, response) => {
    const query = parameters(request);
    response.setHeader("content-type", query.get("type") ?? "application/octet-stream");
    response.end(Buffer.alloc(Number(query.get("n") ?? 1024), "x"));
  },
  "/text": (request, response) => {
    const query = parameters(request);
    response.setHeader("content-type", query.get("type") ?? "text/plain");
    response.end(query.get("body") ?? "");
  },
};
