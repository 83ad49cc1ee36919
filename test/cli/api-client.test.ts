import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { ApiRefusal, apiClient } from "../../src/cli/api-client.ts";
import { CommandFailure } from "../../src/cli/failure.ts";

/** A client whose server is the given listener instead of Millrace. */
async function clientOf(listener: RequestListener) {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, api: apiClient({ url, key: "x" }) };
}

async function failureOf(outcome: Promise<unknown>): Promise<CommandFailure> {
  const failure: unknown = await outcome.then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(failure).toBeInstanceOf(CommandFailure);
  return failure as CommandFailure;
}

describe("the API client of the command line", () => {
  it.each([
    ["a page", "text/html", "<title>Temporal</title>"],
    ["an answer cut short", "application/json", '{"data": ['],
  ])("does not accept %s as a response of the API", async (_, type, body) => {
    const { url, api } = await clientOf((_request, response) => {
      response.writeHead(200, { "content-type": type }).end(body);
    });
    const calls = [
      () => api.get("/v2/runs", { page_size: 1 }),
      () => api.post("/v2/runs", {}),
      () => api.delete("/v2/runs"),
    ];
    for (const call of calls) {
      const { message, exitCode } = await failureOf(call());
      expect(message).toBe(`The server at ${url} is not Millrace: it returned ${type} for /v2/runs.`);
      expect(exitCode).toBe(1);
    }
  });

  it("reports a response that is interrupted", async () => {
    const { api } = await clientOf((_request, response) => {
      response.writeHead(200, { "content-type": "application/json", "content-length": "100" });
      response.write("{", () => response.destroy());
    });
    expect((await failureOf(api.get("/v2/runs"))).message).toMatch(
      /^The response from .*\/v2\/runs was interrupted \(/,
    );
  });

  it("shows the status of an error whose body does not match its content type", async () => {
    const { api } = await clientOf((_request, response) => {
      response.writeHead(502, { "content-type": "application/json" }).end("<h1>Bad gateway</h1>");
    });
    const failure = await failureOf(api.get("/v2/runs"));
    expect(failure).toBeInstanceOf(ApiRefusal);
    expect(failure.message).toBe("GET /v2/runs: 502 <h1>Bad gateway</h1>");
  });

  it("accepts an empty response", async () => {
    const { api } = await clientOf((_request, response) => void response.writeHead(204).end());
    expect(await api.post("/v2/runs", {})).toBeUndefined();
    await api.delete("/v2/runs");
  });
});
