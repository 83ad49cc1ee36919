import { afterAll, beforeAll, expect, it } from "vitest";
import { COUNTED, startModelStub, type ModelStub, type StubCall, type StubReply } from "../../src/dev/model-stub.ts";
import { flow, openBench } from "../engine/support.ts";
import { startHttpTarget, type HttpTarget } from "../support/http-target.ts";
import { shareOf } from "../support/long.ts";
import { eventually } from "../support/scratch.ts";
import { install, type Installation } from "../kill/installation.ts";
import { recordKill } from "../kill/kill-table.ts";

const RUNS = shareOf(60);
/** Number of tool calls that the model requests at each step: 12 in all; at the eighth step it answers. */
const CALLS = [1, 2, 2, 1, 2, 2, 2];
const STEPS = CALLS.length + 1;
const ALL_CALLS = CALLS.reduce((sum, each) => sum + each, 0);

let installation: Installation;
let stub: ModelStub;
let target: HttpTarget;
beforeAll(async () => {
  [installation, stub, target] = await Promise.all([install(), startModelStub(), startHttpTarget()]);
});
afterAll(async () => {
  await Promise.all([installation?.close(), stub?.close(), target?.close()]);
});

const runOf = ({ body }: StubCall): string => /run ([0-9a-f-]{36})/.exec(JSON.stringify(body.messages))?.[1] ?? "";

/** The model's reply depends only on the length of the conversation, so the same request always gets the same reply. */
function script(call: StubCall): StubReply {
  const told = (call.body.messages as { role: string }[]).filter(({ role }) => role === "tool").length;
  let before = 0;
  for (const count of CALLS) {
    if (before === told) {
      const tools = Array.from({ length: count }, (_, at) => ({
        id: `call_${told + at}`,
        name: "order",
        input: { body: { item: `${runOf(call)} ${told + at}` } },
      }));
      return { tools };
    }
    before += count;
  }
  return { text: ["all ", "ordered"] };
}

const DOCUMENT = {
  openapi: "3.1.0",
  info: { title: "Shop", version: "1" },
  paths: {
    "/orders": {
      post: {
        operationId: "order",
        requestBody: {
          required: true,
          content: { "application/json": { schema: { type: "object", properties: { item: { type: "string" } } } } },
        },
        responses: { 200: { description: "ok" } },
      },
    },
  },
};

it("agents finish even if worker and api are killed, and repeat no model or tool call needlessly", async () => {
  const bench = await openBench(installation);
  const asked: string[] = [];
  stub.answer((call) => {
    asked.push(runOf(call));
    return script(call);
  });
  target.on("/orders", (_, response) => {
    response.setHeader("content-type", "application/json");
    response.end('{"ordered":true}');
  });
  const credential = { base_url: `${stub.url}/v1` };
  const connection = { name: "stub", provider_id: "openai_compatible", scheme: "none", credential };
  const { body: made } = await bench.api.post("/v2/connections", connection);
  const openapi = { ...DOCUMENT, servers: [{ url: target.url }] };
  expect((await bench.api.post("/v2/providers", { provider_id: "shop", openapi })).status).toBe(201);
  const config = {
    model: "m",
    connection_id: made.connection_id,
    prompt: "Order for run {{run.id}}",
    tools: [{ type: "action", provider_id: "shop", action_id: "order", name: "order" }],
  };
  const project = await bench.deploy(
    flow(
      [
        { id: "llm-0", type: "llm", config },
        { id: "out-0", type: "output" },
      ],
      ["llm-0>out-0"],
    ),
  );
  const runs = await Promise.all(Array.from({ length: RUNS }, async () => (await bench.start(project)).run_id));

  const reached = (part: number): Promise<unknown> =>
    eventually(`${part} of all steps`, () => asked.length > RUNS * STEPS * part, 120_000);
  for (const [part, at] of [
    [installation.worker[0], 0.2],
    [installation.api[0], 0.4],
    [installation.worker[0], 0.6],
  ] as const) {
    await reached(at);
    await part?.kill();
    await part?.restart();
  }
  await eventually(
    "all runs have ended",
    async () => {
      const [found] = await installation.sql<{ ended: number }>(
        "select count(*)::int as ended from runs where finished_at is not null",
      );
      return found?.ended === RUNS;
    },
    300_000,
  );

  const states = await installation.sql<{ state: string; outputs: unknown }>(
    "select distinct state, outputs from runs",
  );
  expect(states).toEqual([{ state: "COMPLETED", outputs: { "out-0": { v: "all ordered" } } }]);

  // Tools: each effect was requested with one key, and none is missing, except those with an unknown outcome.
  const keys = new Map<string, Set<string>>();
  for (const { body, key = "none" } of target.requests) keys.set(body, new Set([...(keys.get(body) ?? []), key]));
  expect([...keys.values()].filter((each) => each.size !== 1)).toEqual([]);
  const [failed] = await installation.sql<{ codes: string[] }>(
    "select array_agg(distinct error ->> 'code') as codes from node_runs where path like '%/tools[%' and state = 'FAILED'",
  );
  expect(["outcome_unknown"]).toEqual(expect.arrayContaining(failed?.codes ?? []));
  const [tools] = await installation.sql<{ count: number }>(
    "select count(*)::int as count from node_runs where path like '%/tools[%' and state in ('COMPLETED', 'FAILED')",
  );
  expect(tools?.count).toBe(RUNS * ALL_CALLS);

  // Models: every request is recorded as complete or lost, and the recorded usage equals the server's count for complete ones.
  const rows = await installation.sql<{ run_id: string; step: number; whole: number; lost: number }>(
    `select run_id, step, (count(*) filter (where finish_reason <> 'lost'))::int as whole,
       (count(*) filter (where finish_reason = 'lost'))::int as lost from model_calls group by run_id, step`,
  );
  expect(rows.length).toBe(RUNS * STEPS);
  const whole = rows.reduce((sum, each) => sum + each.whole, 0);
  const lost = rows.reduce((sum, each) => sum + each.lost, 0);
  expect(rows.filter((each) => each.whole + each.lost > 1 && each.lost === 0)).toEqual([]);
  expect(whole).toBe(RUNS * STEPS);
  // A step that is interrupted twice in a row is recorded as lost once.
  expect(asked.length - whole - lost).toBeLessThanOrEqual(lost);
  const [used] = await installation.sql<{ tokens: number }>(
    "select sum((usage ->> 'total_tokens')::bigint)::int as tokens from runs",
  );
  const [counted] = await installation.sql<{ tokens: number; exact: number }>(
    `select sum(input_tokens + output_tokens)::int as tokens,
       (sum(input_tokens + output_tokens) filter (where finish_reason <> 'lost'))::int as exact from model_calls`,
  );
  expect(used?.tokens).toBe(counted?.tokens);
  expect(counted?.exact).toBe(whole * (COUNTED.input + COUNTED.output));
  recordKill({
    killed: "worker, api, worker",
    when: `${RUNS} agents of ${STEPS} steps and ${ALL_CALLS} calls under way`,
    runs: runs.length,
    outcome: `all COMPLETED; ${asked.length} requests to the model, ${lost} of them lost; ${target.requests.length} requests of tools for ${RUNS * ALL_CALLS} calls, each of one key`,
  });
});
