import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startModelStub, type ModelStub } from "../../src/dev/model-stub.ts";
import { flow, openBench, type Bench } from "../engine/support.ts";
import { startHttpTarget, type HttpTarget } from "../support/http-target.ts";
import { readMetrics } from "../support/metrics.ts";
import { startOtlpReceiver, type OtlpReceiver, type ReceivedSpan } from "../support/otlp-receiver.ts";
import { eventually } from "../support/scratch.ts";
import { startService, type OwnService } from "../support/service.ts";

const CANARY = "canary-4711-of-a-user";
const ERROR = 2;

let receiver: OtlpReceiver;
let service: OwnService;
let target: HttpTarget;
let stub: ModelStub;
let bench: Bench;
let connection_id: string;
beforeAll(async () => {
  [receiver, target, stub] = await Promise.all([startOtlpReceiver(), startHttpTarget(), startModelStub()]);
  service = await startService({
    env: {
      MILLRACE_OTLP_ENDPOINT: receiver.url,
      OTEL_EXPORTER_OTLP_HEADERS: "x-api-key=for%20the%20collector",
      MILLRACE_METRICS_PORT: "0",
    },
  });
  bench = await openBench(service);
  const { body } = await bench.api.post("/v2/connections", {
    name: "models",
    provider_id: "openai_compatible",
    scheme: "api_key",
    credential: { api_key: "sk-planted", base_url: `${stub.url}/v1` },
  });
  connection_id = body.connection_id;
  target.on("/weather", (_, response) => {
    response.setHeader("content-type", "application/json");
    response.end('{"sunny":true}');
  });
  const { status } = await bench.api.post("/v2/providers", { provider_id: "town", openapi: weather(target.url) });
  expect(status).toBe(201);
});
afterAll(async () => {
  await service?.close();
  await Promise.all([receiver?.close(), target?.close(), stub?.close()]);
});

function weather(url: string) {
  const city = { name: "city", in: "query", required: true, schema: { type: "string" } };
  return {
    openapi: "3.1.0",
    info: { title: "Town", version: "1" },
    servers: [{ url }],
    paths: {
      "/weather": {
        get: { operationId: "weather", parameters: [city], responses: { 200: { description: "ok" } } },
      },
    },
  };
}

const input = { id: "in-0", type: "input" };
const output = { id: "out-0", type: "output" };

const newTrace = () => ({ trace: randomBytes(16).toString("hex"), parent: randomBytes(8).toString("hex") });
const headerOf = ({ trace, parent }: { trace: string; parent: string }, flags = "01") => ({
  traceparent: `00-${trace}-${parent}-${flags}`,
});

async function startIn(headers: Record<string, string>, project_id: string): Promise<string> {
  const { status, body } = await bench.api.post("/v2/runs", { project_id, inputs: { "in-0": CANARY } }, { headers });
  expect(status).toBe(201);
  await bench.until(body.run_id);
  return body.run_id;
}

const runSpan = (run_id: string): Promise<ReceivedSpan> =>
  receiver.find(`run ${run_id}`, (span) => span.name === "run" && span.attributes["millrace.run.id"] === run_id);
const nodeSpan = (run_id: string, path: string): Promise<ReceivedSpan> =>
  receiver.find(
    `${path} of ${run_id}`,
    ({ attributes }) =>
      attributes["millrace.run.id"] === run_id &&
      attributes["millrace.node.path"] === path &&
      attributes["millrace.attempt"] === undefined,
  );
const attemptSpan = (run_id: string, path: string, attempt: number): Promise<ReceivedSpan> =>
  receiver.find(
    `attempt ${attempt} at ${path}`,
    ({ attributes }) =>
      attributes["millrace.run.id"] === run_id &&
      attributes["millrace.node.path"] === path &&
      attributes["millrace.attempt"] === attempt,
  );
const childOf = (parent: ReceivedSpan, name: string): Promise<ReceivedSpan> =>
  receiver.find(
    `${name} in ${parent.name}`,
    (span) => span.trace_id === parent.trace_id && span.parent_id === parent.span_id && span.name === name,
  );

describe("the trace of a run", () => {
  it("leads from the caller's span to each attempt and each request, which forwards the context", async () => {
    const caller = newTrace();
    const http = {
      id: "http-0",
      type: "http",
      config: { url: `${target.url}/flaky?times=1&for=${CANARY}`, method: "POST", body: "{{in-0}}" },
      retry: { max_attempts: 3, initial_interval_ms: 10 },
    };
    const project_id = await bench.deploy(flow([input, http, output], ["in-0>http-0", "http-0>out-0"]));
    const run_id = await startIn(headerOf(caller), project_id);

    const run = await runSpan(run_id);
    const request = await receiver.find("the request", ({ span_id }) => span_id === run.parent_id);
    expect(request).toMatchObject({
      trace_id: caller.trace,
      parent_id: caller.parent,
      name: "POST /v2/runs",
      kind: 2,
      service: "millrace-api",
      attributes: { "http.response.status_code": 201, "millrace.org.id": bench.org_id },
    });
    expect(run).toMatchObject({ trace_id: caller.trace, attributes: { "millrace.run.state": "COMPLETED" } });
    const node = await nodeSpan(run_id, "http-0");
    expect(node).toMatchObject({
      trace_id: caller.trace,
      parent_id: run.span_id,
      name: "http http-0",
      status: { code: 0 },
      attributes: { "millrace.node.state": "COMPLETED", "millrace.node.attempts": 2 },
    });
    const [first, second] = [await attemptSpan(run_id, "http-0", 1), await attemptSpan(run_id, "http-0", 2)];
    expect([first.parent_id, second.parent_id]).toEqual([node.span_id, node.span_id]);
    expect([first.status.code, second.status.code]).toEqual([ERROR, 0]);
    expect(node.start_ms).toBeLessThanOrEqual(first.end_ms);
    expect(first.end_ms).toBeLessThanOrEqual(second.start_ms + 1);
    const calls = [await childOf(first, "POST"), await childOf(second, "POST")];
    expect(calls.map(({ attributes }) => attributes["http.response.status_code"])).toEqual([503, 200]);
    const sent = target.requests.filter(({ path }) => path === "/flaky").map(({ headers }) => headers["traceparent"]);
    expect(sent).toEqual(calls.map(({ span_id }) => `00-${caller.trace}-${span_id}-01`));
    // The log lines name the same trace.
    const lines = service.logs().split("\n");
    for (const message of ["run finished", "node attempt failed"]) {
      const line = lines.find((each) => each.includes(message) && each.includes(run_id)) ?? "{}";
      expect(JSON.parse(line)).toMatchObject({ trace_id: caller.trace });
    }
    expect(receiver.headers.every((each) => each["x-api-key"] === "for the collector")).toBe(true);
  });

  it("names models, tools and agents by OpenTelemetry conventions, with their token counts", async () => {
    stub.next(
      { tools: [{ id: "call_0", name: "town_weather", input: { city: CANARY } }] },
      { text: ["Sunny, ", CANARY] },
    );
    const llm = {
      id: "llm-0",
      type: "llm",
      config: {
        model: "gpt-test",
        connection_id,
        prompt: "{{in-0}}",
        tools: [{ type: "action", provider_id: "town", action_id: "weather" }],
      },
    };
    const project_id = await bench.deploy(flow([input, llm, output], ["in-0>llm-0", "llm-0>out-0"]));
    const { run_id } = await bench.until((await bench.start(project_id, { "in-0": CANARY })).run_id);

    const agent = await nodeSpan(run_id, "llm-0");
    expect(agent).toMatchObject({
      name: "invoke_agent llm-0",
      attributes: { "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "llm-0" },
    });
    const tool = await nodeSpan(run_id, "llm-0/tools[0]");
    expect(tool).toMatchObject({
      parent_id: agent.span_id,
      name: "execute_tool town_weather",
      attributes: { "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "town_weather" },
    });
    await childOf(await attemptSpan(run_id, "llm-0/tools[0]", 1), "GET");
    const step = await nodeSpan(run_id, "llm-0/steps[1]");
    expect(step.parent_id).toBe(agent.span_id);
    const chat = await childOf(await attemptSpan(run_id, "llm-0/steps[1]", 1), "chat gpt-test");
    expect(chat.attributes).toMatchObject({
      "gen_ai.operation.name": "chat",
      "gen_ai.request.model": "gpt-test",
      "gen_ai.response.finish_reasons": ["stop"],
      "gen_ai.usage.input_tokens": expect.any(Number),
      "gen_ai.usage.output_tokens": expect.any(Number),
    });
    await childOf(chat, "POST");
  });

  it("continues in child runs, and links a run to the run that it resumes or reruns", async () => {
    const guard = { id: "guard-0", type: "guard", config: { check: "false", message: "no" } };
    const child = await bench.deploy(flow([input, guard, output], ["in-0>guard-0", "guard-0>out-0"]));
    const sub = { id: "sub-0", type: "subflow", config: { project_id: child, inputs: { "in-0": 'nodes["in-0"]' } } };
    const project_id = await bench.deploy(flow([input, sub, output], ["in-0>sub-0", "sub-0>out-0"]));
    const caller = newTrace();
    const run_id = await startIn(headerOf(caller), project_id);
    const run = await runSpan(run_id);
    expect(run.status).toEqual({ code: ERROR, message: "subflow_failed" });
    const { body } = await bench.api.get("/v2/runs", { query: { parent_run_id: run_id } });
    const inner = await runSpan(body.data[0].run_id);
    const node = await nodeSpan(run_id, "sub-0");
    expect(inner).toMatchObject({ trace_id: caller.trace, parent_id: node.span_id, status: { code: ERROR } });

    const job = await bench.api.post("/v2/run-jobs", { action: "replay", filter: { project_id, state: ["FAILED"] } });
    expect(job.status, JSON.stringify(job.body)).toBeLessThan(300);
    const replayed = await eventually("the run of the job", async () => {
      const { body: list } = await bench.api.get("/v2/runs", { query: { project_id } });
      const ids = (list.data as ReadonlyArray<{ run_id: string }>).map((each) => each.run_id);
      return ids.find((id) => id !== run_id);
    });
    const resumed = await bench.api.post(`/v2/runs/${run_id}/resume`, { from: "failed" });
    expect(resumed.status, JSON.stringify(resumed.body)).toBeLessThan(300);
    for (const id of [resumed.body.run_id, replayed]) {
      await bench.until(id);
      const linked = await runSpan(id);
      expect(linked.links).toEqual([{ trace_id: caller.trace, span_id: run.span_id }]);
      expect(linked.trace_id).not.toBe(caller.trace);
    }
  });

  it("ignores an invalid traceparent, and records nothing if the caller is not sampled", async () => {
    const project_id = await bench.deploy(flow([input, output], ["in-0>out-0"]));
    const { trace, parent } = newTrace();
    const hostile = [
      `00-${"0".repeat(32)}-${parent}-01`,
      `00-${trace}-${"0".repeat(16)}-01`,
      `ff-${trace}-${parent}-01`,
      `00-${trace.toUpperCase()}x-${parent}-01`,
      `00-${trace}-${parent}-01-more`,
      `00-${trace}-${parent}-01,00-${trace}-${parent}-01`,
      "x".repeat(4000),
    ];
    for (const traceparent of hostile) {
      const span = await runSpan(await startIn({ traceparent }, project_id));
      expect(span.trace_id).toMatch(/^(?!0+$)[0-9a-f]{32}$/);
      expect(span.trace_id).not.toBe(trace);
    }
    const quiet = newTrace();
    const unrecorded = await startIn(headerOf(quiet, "00"), project_id);
    await runSpan(await startIn({}, project_id));
    expect(receiver.spans.filter(({ attributes }) => attributes["millrace.run.id"] === unrecorded)).toEqual([]);
    expect(receiver.spans.filter(({ trace_id }) => trace_id === quiet.trace)).toEqual([]);
  });

  it("contains no inputs, no outputs and no secret", async () => {
    await eventually("spans of all tests", () => receiver.spans.length > 0);
    const bytes = receiver.bytes();
    for (const secret of [CANARY, "sk-planted", bench.secretKey]) expect(bytes.includes(secret)).toBe(false);
  });
});

describe("the export of spans", () => {
  const inline = () => flow([input, output], ["in-0>out-0"]);

  it("sends nothing with a ratio of 0, except traces that the caller records", async () => {
    const own = await startOtlpReceiver();
    const quiet = await startService({ env: { OTEL_EXPORTER_OTLP_ENDPOINT: own.url, MILLRACE_TRACE_RATIO: "0" } });
    try {
      const party = await openBench(quiet);
      const project_id = await party.deploy(inline());
      await party.until((await party.start(project_id, { "in-0": "x" })).run_id);
      const caller = newTrace();
      const { body } = await party.api.post(
        "/v2/runs",
        { project_id, inputs: { "in-0": "x" } },
        { headers: headerOf(caller) },
      );
      await party.until(body.run_id);
      await own.find("the run", (span) => span.attributes["millrace.run.id"] === body.run_id);
      expect(new Set(own.spans.map(({ trace_id }) => trace_id))).toEqual(new Set([caller.trace]));
    } finally {
      await quiet.close();
      await own.close();
    }
  });

  it("does not delay a run while the collector is down, and counts lost spans", async () => {
    const gone = await startOtlpReceiver();
    await gone.close();
    const lonely = await startService({ env: { MILLRACE_OTLP_ENDPOINT: gone.url, MILLRACE_METRICS_PORT: "0" } });
    try {
      const party = await openBench(lonely);
      expect(await party.run(inline(), { "in-0": "x" })).toMatchObject({ state: "COMPLETED" });
      await eventually("spans that could not be sent", async () =>
        /millrace_trace_spans_total\{[^}]*outcome="failed"[^}]*\} [1-9]/.test(
          await readMetrics({ url: lonely.api[0]?.url ?? "" }),
        ),
      );
    } finally {
      await lonely.close();
    }
  });
});
