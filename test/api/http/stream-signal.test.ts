import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import Koa from "koa";
import { expect, it, onTestFinished } from "vitest";
import { answerStream, EVENT_STREAM, serverSentEvent } from "../../../src/api/http/event-stream.ts";
import { operationsOf, type RequestState } from "../../../src/api/http/operation.ts";
import { serveOperation, type ServeDeps } from "../../../src/api/http/serve-operation.ts";
import { loadConfig } from "../../../src/config.ts";

it("a waiting stream is notified when its client disconnects", async () => {
  let told = false;
  async function* texts(signal: AbortSignal): AsyncGenerator<string, void> {
    yield serverSentEvent(1, null, "first");
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
    told = true;
  }
  const operation = operationsOf({ tag: "Test", auth: "none" })({
    id: "stream",
    route: "GET /stream",
    summary: "Streams",
    description: "For this test.",
    success: { 200: { description: "Events." } },
    handler: async ({ streamSignal }) => answerStream(EVENT_STREAM, texts(streamSignal())),
  });
  const serve = serveOperation(operation, { config: loadConfig({ DATABASE_URL: "postgres://unused" }) } as ServeDeps);
  const app = new Koa<RequestState>();
  // Koa would log the closed connection as an error.
  app.silent = true;
  app.use(async (ctx) => serve(Object.assign(ctx, { params: {} }) as never));
  const server = createServer(app.callback());
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));

  const gone = new AbortController();
  const { port } = server.address() as AddressInfo;
  const response = await fetch(`http://127.0.0.1:${port}/stream`, { signal: gone.signal });
  await response.body?.getReader().read();
  expect(told).toBe(false);
  gone.abort();
  await expect.poll(() => told).toBe(true);
});
