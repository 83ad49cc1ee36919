import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { createGuardedFetch } from "../../src/platform/fetch/guarded-fetch.ts";
import { createMcpClient, type McpServer } from "../../src/platform/mcp/mcp-client.ts";

const BIG = "12345678901234567890";
/** A result as a server in another language writes it; digits inside strings must not change. */
const RESULT = `{"content":[{"type":"text","text":"é ${BIG}"}],\n"structuredContent":{"id":${BIG},"all":[1.5,-${BIG},7],"at":"\\"${BIG}"}}`;

/** A server that answers `tools/call` with RESULT, as JSON or as an event. */
async function serve(asEvent: boolean, ends: string) {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { id, method } = JSON.parse(Buffer.concat(chunks).toString() || "{}");
    const answer = (result: string): void => {
      const text = `{"jsonrpc":"2.0","id":${id},"result":${result}}`;
      if (!asEvent) return void response.setHeader("content-type", "application/json").end(text);
      const event = `id: ${BIG}\ndata: ${text.replaceAll("\n", "\ndata: ")}\n\n`.replaceAll("\n", ends);
      response.writeHead(200, { "content-type": "text/event-stream" });
      // The chunks are split in the middle of a number and of a character.
      const bytes = Buffer.from(event);
      const cuts = [bytes.indexOf("é") + 1, bytes.lastIndexOf(BIG) - 30, bytes.length];
      for (const [index, cut] of cuts.entries()) response.write(bytes.subarray(cuts[index - 1] ?? 0, cut));
      response.end();
    };
    if (method === "initialize")
      answer(`{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}`);
    else if (method === "tools/call") answer(RESULT);
    else if (method === "tools/list")
      answer(`{"tools":[{"name":"a","inputSchema":{"type":"object","properties":{"n":{"maximum":${BIG}}}}}]}`);
    else response.writeHead(202).end();
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const guarded = createGuardedFetch({ allow: [`127.0.0.1:${port}`] });
  onTestFinished(async () => {
    await guarded.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const asked: McpServer = {
    url: `http://127.0.0.1:${port}/mcp`,
    send: (call) => call({ headers: {}, query: {} }),
    signal: new AbortController().signal,
  };
  return { client: createMcpClient(guarded, "1"), asked };
}

it.each([
  ["as JSON", false, "\n"],
  ["as an event", true, "\n"],
  ["as an event with other ends of lines", true, "\r\n"],
])("keeps all digits of numbers in a tool result %s", async (_, asEvent, ends) => {
  const { client, asked } = await serve(asEvent, ends);
  const hooks = { begin: async () => undefined, onProgress: () => undefined };
  const { content, structured } = await client.callTool(asked, { name: "a", arguments: {}, _meta: {} }, hooks);
  expect(content).toEqual([{ type: "text", text: `é ${BIG}` }]);
  expect(structured).toEqual({ id: BIG, all: [1.5, `-${BIG}`, 7], at: `"${BIG}` });
});

it("keeps all digits of numbers in a schema", async () => {
  const { client, asked } = await serve(false, "\n");
  const { tools } = await client.listTools(asked, 10);
  expect(tools).toMatchObject([{ inputSchema: { properties: { n: { maximum: BIG } } } }]);
});
