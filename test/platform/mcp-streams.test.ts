import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createGuardedFetch, type GuardedFetch } from "../../src/platform/fetch/guarded-fetch.ts";
import { createMcpClient, type McpServer } from "../../src/platform/mcp/mcp-client.ts";

let server: Server;
let guarded: GuardedFetch;
let origin: string;
/** Responds to the request for the list of tools. */
let list: (response: ServerResponse, id: number) => void;
/** Responds to the request that resumes a stream that has ended. */
let resumed: typeof list | null;
let requests: string[];
let open: Set<ServerResponse>;

beforeEach(async () => {
  requests = [];
  resumed = null;
  open = new Set();
  server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { id, method } = JSON.parse(Buffer.concat(chunks).toString() || "{}");
    requests.push(method ?? request.method);
    open.add(response);
    response.once("close", () => open.delete(response));
    if (method === "initialize") {
      const result = {
        protocolVersion: "2025-06-18",
        capabilities: { tools: {} },
        serverInfo: { name: "x", version: "1" },
      };
      response.setHeader("content-type", "application/json").end(JSON.stringify({ jsonrpc: "2.0", id, result }));
    } else if (method === "tools/list") list(response.writeHead(200, { "content-type": "text/event-stream" }), id);
    else if (resumed !== null && request.method === "GET")
      resumed(response.writeHead(200, { "content-type": "text/event-stream" }), id);
    else response.writeHead(202).end();
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  origin = `http://127.0.0.1:${port}`;
  guarded = createGuardedFetch({ allow: [`127.0.0.1:${port}`] });
});
afterEach(async () => {
  await guarded.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const said = (message: unknown): string => `data: ${JSON.stringify({ jsonrpc: "2.0", ...(message as object) })}\n\n`;
const note = { method: "notifications/message", params: { level: "info", data: "x" } };

async function timed(ms: number): Promise<{ error: unknown; took: number }> {
  const asked: McpServer = {
    url: `${origin}/mcp`,
    send: (call) => call({ headers: {}, query: {} }),
    signal: AbortSignal.timeout(ms),
  };
  const started = Date.now();
  const error = await createMcpClient(guarded, "1")
    .listTools(asked, 10)
    .then(
      () => null,
      (reason: unknown) => reason,
    );
  return { error, took: Date.now() - started };
}

describe("mcp-ssrf: a server that never ends its response", () => {
  it("is abandoned at the time limit, and no connection stays open", async () => {
    list = (response) => {
      const timer = setInterval(() => response.write(said(note)), 5);
      response.once("close", () => clearInterval(timer));
    };
    const { error, took } = await timed(1000);
    expect(error).toMatchObject({ name: "TimeoutError" });
    expect(took).toBeLessThan(10_000);
    await expect.poll(() => open.size).toBe(0);
  });

  it("is abandoned at the time limit if it floods the client", async () => {
    list = (response) => {
      const event = said({ ...note, params: { level: "info", data: "x".repeat(60_000) } });
      const write = (): void => {
        while (response.writable && response.write(event));
      };
      response.on("drain", write);
      write();
    };
    const { error, took } = await timed(1000);
    expect(error).toMatchObject({ name: "TimeoutError" });
    expect(took).toBeLessThan(10_000);
    await expect.poll(() => open.size).toBe(0);
  });

  it("gets replies to only a few of its own requests", async () => {
    list = (response) => {
      const question = { method: "ping", params: {} };
      for (let n = 0; n < 20_000; n++) response.write(said({ id: `s${n}`, ...question }));
    };
    const { error, took } = await timed(2000);
    expect(error).toMatchObject({ name: "TimeoutError" });
    expect(took).toBeLessThan(15_000);
    expect(requests.length).toBeGreaterThan(5);
    expect(requests.length).toBeLessThan(100);
  });

  it("is resumed only a few times a second, whatever retry time it sends", async () => {
    list = (response) => void response.end(`retry: 1\nid: 1\n${said(note)}`);
    resumed = list;
    const { error } = await timed(2000);
    expect(error).toMatchObject({ name: "TimeoutError" });
    const resumes = requests.filter((each) => each === "GET").length;
    expect(resumes).toBeGreaterThan(1);
    expect(resumes).toBeLessThan(10);
  });
});
