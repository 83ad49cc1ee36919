import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Client as FormerClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as FormerTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { flow } from "../../engine/support.ts";
import { startHttpTarget, type HttpTarget } from "../../support/http-target.ts";
import { startInProcess } from "../in-process.ts";
import { echo, openTenant, type ApiTenant } from "../tenant.ts";

const GET_RUN = "millrace_get_run";
const approval = { id: "approval-0", type: "approval", config: { message: "Ship it?" } };

let mine: ApiTenant;
let upstream: HttpTarget;
let ids: Record<"echo" | "same" | "failing" | "asking" | "calling", string>;
beforeAll(async () => {
  mine = await openTenant();
  upstream = await startHttpTarget();
  const named = async (name: string, definition: unknown): Promise<string> => {
    const { status, body } = await mine.secret.post("/v2/projects", { name, flow: definition });
    expect(status, JSON.stringify(body)).toBe(201);
    return body.project_id;
  };
  const out = { id: "out-0", type: "output" };
  const call = (url: string) => ({ id: "http-0", type: "http", config: { method: "GET", url } });
  ids = {
    echo: await named("Écho it!", echo()),
    same: await named("Echo it", echo()),
    failing: await named("failing", flow([call("http://10.0.0.1/"), out], ["http-0>out-0"])),
    asking: await named("asking", flow([approval, { ...out, config: { value: "yes" } }], ["approval-0:approve>out-0"])),
    calling: await named(
      "calling",
      flow([call(`${upstream.url}/held`), { ...out, config: { value: "done" } }], ["http-0>out-0"]),
    ),
  };
  await mine.secret.post("/v2/projects", { name: "a draft" });
});
afterAll(() => upstream?.close());

const address = (query = ""): URL => new URL(`/mcp${query}`, mine.target.url);
const requestInit = (key: string): RequestInit => ({ headers: { authorization: `Bearer ${key}` } });

async function connected(key = mine.secretKey, query = ""): Promise<Client> {
  const client = new Client({ name: "test", version: "1" });
  await client.connect(new StreamableHTTPClientTransport(address(query), { requestInit: requestInit(key) }));
  return client;
}

const textOf = (result: unknown): string => (result as { content: Array<{ text: string }> }).content[0]?.text ?? "";
const runOf = (result: unknown): { run_id: string; state: string; replayed?: true } =>
  (result as { _meta: Record<string, { run_id: string; state: string }> })._meta["millrace/run"] as never;

describe("POST /mcp with the official client", () => {
  it("lists published flows as tools with unique names", async () => {
    const client = await connected();
    const { tools } = await client.listTools();
    const longer = `Echo_it_${ids.same.slice(-8)}`;
    expect(tools.map(({ name }) => name)).toEqual(["Echo_it", longer, "failing", "asking", "calling", GET_RUN]);
    expect(tools[0]).toMatchObject({
      title: "Écho it!",
      inputSchema: { type: "object", properties: { "in-0": {} }, required: ["in-0"] },
      outputSchema: { type: "object", properties: { "out-0": {} } },
    });
    expect(await client.ping()).toEqual({});
    // Lists again, with more flows than one page holds.
    const other = await openTenant();
    for (let n = 0; n < 51; n += 1) await other.deploy(echo());
    const many = await (await connected(other.secretKey)).listTools();
    expect(many.tools).toHaveLength(52);
    expect(new Set(many.tools.map(({ name }) => name)).size).toBe(52);
  });

  it.each([
    ["of today", () => connected()],
    [
      "before it",
      async () => {
        const client = new FormerClient({ name: "test", version: "1" });
        await client.connect(new FormerTransport(address(), { requestInit: requestInit(mine.secretKey) }));
        return client;
      },
    ],
    [
      "that asks for the newest protocol first",
      async () => {
        const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode: "auto" } });
        const transport = new StreamableHTTPClientTransport(address(), { requestInit: requestInit(mine.secretKey) });
        await client.connect(transport);
        return client;
      },
    ],
  ])("runs a flow for a client %s", async (_, open) => {
    const client = await open();
    // After listing the tools, the client knows their schemas and checks the results.
    await client.listTools();
    const result = await client.callTool({ name: "Echo_it", arguments: { "in-0": "Ada" } });
    expect(result).toMatchObject({ structuredContent: { "out-0": "Ada" }, content: [{ type: "text", text: "Ada" }] });
    const { body } = await mine.secret.get(`/v2/runs/${runOf(result).run_id}`);
    expect(body).toMatchObject({
      state: "COMPLETED",
      project_id: ids.echo,
      run_type: "api",
      ran_by_type: "org_api_key",
    });
    await client.close();
  });

  it("reports invalid inputs and failed runs in results, and invalid requests as errors", async () => {
    const client = await connected();
    const missing = await client.callTool({ name: "Echo_it", arguments: {} });
    expect([missing.isError, textOf(missing)]).toEqual([true, expect.stringContaining("in-0")]);
    const failed = await client.callTool({ name: "failing", arguments: {} });
    expect([failed.isError, textOf(failed), runOf(failed).state]).toEqual([
      true,
      expect.stringContaining("http_refused"),
      "FAILED",
    ]);
    await expect(client.callTool({ name: "nobody" })).rejects.toThrow(/Unknown tool: nobody/);
    await expect(client.request({ method: "tools/list", params: { cursor: "x" } })).rejects.toThrow(/cursor/);
    await expect(client.request({ method: "prompts/list" })).rejects.toThrow(/prompts\/list/);
  });

  it("reports that a run is paused, and how to resume it", async () => {
    const client = await connected();
    await client.listTools();
    const paused = await client.callTool({ name: "asking", arguments: {} });
    const { run_id, state } = runOf(paused);
    expect([paused.isError, state, textOf(paused)]).toEqual([
      false,
      "PAUSED",
      expect.stringMatching(/Ship it\?.*resume/),
    ]);
    await mine.secret.post(`/v2/runs/${run_id}/resume`, { action: "approve" });
    const after = await client.callTool({ name: GET_RUN, arguments: { run_id, wait_seconds: 20 } });
    expect([runOf(after).state, after.structuredContent]).toEqual(["COMPLETED", { "out-0": "yes" }]);
    const strange = await (
      await connected((await openTenant()).secretKey)
    ).callTool({ name: GET_RUN, arguments: { run_id } });
    expect([strange.isError, textOf(strange)]).toEqual([true, "run_id: run not found"]);
  });

  it("sends progress; a cancelled call stops waiting, and its run continues", async () => {
    const release = upstream.hold("/held");
    const client = await connected();
    const notes: string[] = [];
    const stop = new AbortController();
    const onprogress = ({ message = "" }: { message?: string | undefined }): void => {
      notes.push(message);
      if (notes.length === 1) stop.abort(new Error("enough"));
    };
    const call = { method: "tools/call" as const, params: { name: "calling", arguments: {} } };
    await expect(client.request(call, { signal: stop.signal, onprogress })).rejects.toThrow(/enough/);
    const [run_id = ""] = /[0-9a-f-]{36}/.exec(notes[0] ?? "") ?? [];
    const held = await client.callTool({ name: GET_RUN, arguments: { run_id } });
    expect([runOf(held).state, textOf(held)]).toEqual([
      expect.stringMatching(/PENDING|RUNNING/),
      expect.stringContaining("continues"),
    ]);
    release();
    expect((await mine.until(run_id, "COMPLETED")).outputs).toEqual({ "out-0": "done" });
  });

  it("runs only the flows that the URL names: always for a public key, and if it names any for others", async () => {
    await expect(connected(mine.publicKey)).rejects.toThrow(/flow_id/);
    const client = await connected(mine.publicKey, `?flow_id=${ids.echo}`);
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["Echo_it", GET_RUN]);
    const result = await client.callTool({ name: "Echo_it", arguments: { "in-0": "web" } });
    expect(result.structuredContent).toEqual({ "out-0": "web" });
    await expect(client.callTool({ name: "failing" })).rejects.toThrow(/Unknown tool/);
    const narrow = await connected(mine.secretKey, `?flow_id=${ids.echo}&flow_id=${ids.asking}`);
    expect((await narrow.listTools()).tools).toHaveLength(3);
    const foreign = await (await openTenant()).deploy(echo());
    await expect((await connected(mine.secretKey, `?flow_id=${foreign}`)).listTools()).rejects.toThrow(
      /Flow not found/,
    );
  });
});

describe("POST /mcp as HTTP", () => {
  const list = { jsonrpc: "2.0", id: 1, method: "tools/list" };
  const call = {
    jsonrpc: "2.0",
    id: "a",
    method: "tools/call",
    params: { name: "Echo_it", arguments: { "in-0": "x" } },
  };

  it("returns JSON if only that is accepted, accepts notifications, and serves no other method", async () => {
    const { status, body } = await mine.secret.post("/mcp", call);
    expect([status, body.id, body.result.structuredContent]).toEqual([200, "a", { "out-0": "x" }]);
    expect((await mine.secret.post("/mcp", { jsonrpc: "2.0", method: "notifications/initialized" })).status).toBe(202);
    for (const method of ["GET", "DELETE"]) {
      const answer = await mine.secret.raw(method, "/mcp");
      expect([answer.status, answer.headers.get("allow")]).toEqual([405, "POST, OPTIONS"]);
    }
  });

  it("ends a stream whose request is cancelled in the same session, and says that the run continues", async () => {
    const release = upstream.hold("/held");
    const session = { "mcp-session-id": "0197f0a0-0000-7000-8000-00000000abcd" };
    const params = { name: "calling", _meta: { progressToken: "p" } };
    const headers = { ...session, accept: "application/json, text/event-stream" };
    const answer = await mine.secret.raw("POST", "/mcp", { ...call, params }, { headers });
    const cancelled = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "a" } };
    // Requests of other callers may have the same IDs.
    expect((await mine.secret.post("/mcp", cancelled)).status).toBe(202);
    expect((await mine.secret.post("/mcp", cancelled, { headers: session })).status).toBe(202);
    const events = (await answer.text())
      .split("\n")
      .flatMap((line) => (line.startsWith("data: ") ? [line.slice(6)] : []));
    const [first, last] = [JSON.parse(events[0] ?? ""), JSON.parse(events.at(-1) ?? "")];
    expect([first.method, first.params.progressToken, last.id]).toEqual(["notifications/progress", "p", "a"]);
    expect(textOf(last.result)).toMatch(/continues/);
    release();
    await mine.until(runOf(last.result).run_id, "COMPLETED");
  });

  it("finds the run of an Idempotency-Key again", async () => {
    const options = { headers: { "idempotency-key": "tool-call-1" } };
    const [first, second] = [
      await mine.secret.post("/mcp", call, options),
      await mine.secret.post("/mcp", call, options),
    ];
    expect(runOf(second.body.result).run_id).toBe(runOf(first.body.result).run_id);
    const said = [first, second].map(({ headers, body }) => [
      headers.get("idempotent-replayed"),
      runOf(body.result).replayed,
    ]);
    expect(said).toEqual([
      [null, undefined],
      ["true", true],
    ]);
    const accept = { ...options.headers, accept: "application/json, text/event-stream" };
    const streamed = await mine.secret.raw("POST", "/mcp", call, { headers: accept });
    expect(streamed.headers.get("idempotent-replayed")).toBe("true");
    expect(await streamed.text()).toContain('"replayed":true');
    // As a client sends a retry.
    const params = { ...call.params, _meta: { progressToken: "other" } };
    const third = await mine.secret.post("/mcp", { ...call, id: "b", params }, options);
    expect([third.body.id, runOf(third.body.result).run_id]).toEqual(["b", runOf(first.body.result).run_id]);
    const other = { ...call.params, arguments: { "in-0": "y" } };
    expect((await mine.secret.post("/mcp", { ...call, params: other }, options)).body.code).toBe(
      "idempotency_conflict",
    );
  });

  it("reports progress with increasing numbers while no node has finished", async () => {
    const api = await startInProcess({
      databaseUrl: mine.target.databaseUrl,
      env: { MILLRACE_STREAM_KEEP_ALIVE_MS: "50" },
    });
    try {
      const release = upstream.hold("/held");
      const params = { name: "calling", _meta: { progressToken: "p" } };
      const headers = { accept: "application/json, text/event-stream" };
      const stop = new AbortController();
      const answer = await fetch(`${api.url}/mcp`, {
        method: "POST",
        headers: { ...headers, authorization: `Bearer ${mine.secretKey}`, "content-type": "application/json" },
        body: JSON.stringify({ ...call, params }),
        signal: stop.signal,
      });
      const seen: number[] = [];
      for await (const chunk of answer.body ?? []) {
        for (const [, number] of Buffer.from(chunk)
          .toString()
          .matchAll(/"progress":([\d.]+)/g))
          seen.push(Number(number));
        if (seen.length >= 4) break;
      }
      expect(seen).toEqual(seen.toSorted((a, b) => a - b));
      expect(new Set(seen).size).toBe(seen.length);
      stop.abort();
      release();
    } finally {
      await api.close();
    }
  });

  it("rejects a call at the depth limit of nested runs", async () => {
    const from = async (depth: unknown) =>
      (await mine.secret.post("/mcp", { ...call, params: { ...call.params, _meta: { "millrace/depth": depth } } }))
        .body;
    expect((await from(7)).result).toMatchObject({ isError: false });
    expect((await from(8)).result).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining("more than 8 nested runs") }],
    });
    for (const depth of ["7", -1, 1.5]) expect((await from(depth)).error.code).toBe(-32_602);
  });

  it("rejects forbidden callers and invalid messages", async () => {
    expect((await mine.public.post("/mcp", list)).status).toBe(403);
    expect((await (await mine.user("viewer")).post("/mcp", list)).status).toBe(403);
    expect((await (await mine.user("editor")).post("/mcp", list)).status).toBe(200);
    expect((await mine.secret.post("/mcp", [list])).status).toBe(422);
    expect((await mine.secret.post("/mcp", { id: 1, method: "ping" })).status).toBe(422);
    const version = await mine.secret.post("/mcp", list, { headers: { "mcp-protocol-version": "1999-01-01" } });
    expect(version.status).toBe(400);
    expect((await mine.secret.post("/mcp", { ...call, params: { name: 1 } })).body.error.code).toBe(-32_602);
  });

  it("rejects web pages of other origins, except with public keys (DNS rebinding)", async () => {
    const from = (origin: string) => ({ headers: { origin } });
    expect((await mine.secret.post("/mcp", list, from("https://evil.example"))).status).toBe(403);
    expect((await mine.secret.post("/mcp", list, from("http://localhost:6274"))).status).toBe(200);
    const named = `/mcp?flow_id=${ids.echo}`;
    expect((await mine.public.post(named, list, from("https://shop.example"))).status).toBe(200);
  });
});
