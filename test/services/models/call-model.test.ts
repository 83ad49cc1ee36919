import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startModelStub, type ModelStub } from "../../../src/dev/model-stub.ts";
import { costOf } from "../../../src/domain/models/prices.ts";
import { createModelCaller } from "../../../src/services/models/call-model.ts";
import { readPrices } from "../../../src/services/models/read-prices.ts";
import { buildRun, buildTenant, ownDatabase } from "../../stores/rows.ts";

const own = ownDatabase();
const folder = mkdtempSync(join(tmpdir(), "millrace-prices-"));
let stub: ModelStub;
beforeAll(async () => {
  stub = await startModelStub();
});
afterAll(async () => {
  await stub.close();
  rmSync(folder, { recursive: true });
});

it("records the call of a crashed process once, with estimated usage", async () => {
  const { database: db } = own;
  const tenant = await buildTenant(db);
  const run_id = await buildRun(db, tenant);
  const endpoint = { protocol: "openai" as const, base_url: `${stub.url}/v1`, headers: {} };
  const resolved = { endpoint, model: "m", connection: null, fetch: globalThis.fetch, secrets: [] };
  const caller = createModelCaller({ db, models: { resolve: async () => resolved }, prices: { own: {}, listed: {} } });
  const ask = (attempt: number, repeated: boolean) =>
    caller.call({
      ...tenant,
      run_id,
      path: "llm-0",
      attempt,
      step: 1,
      choice: {},
      repeated,
      request: { messages: [{ role: "user", content: "x".repeat(400) }] },
      signal: AbortSignal.timeout(10_000),
    });
  // Attempt 1 left no record before it was repeated; attempt 2 was recorded completely.
  await ask(1, true);
  await ask(2, false);
  await ask(2, true);
  const rows = await db.org(tenant.org_id, (connected) =>
    connected.query<{ attempt: number; finish_reason: string; estimated: boolean; input_tokens: string }>(
      "select attempt, finish_reason, estimated, input_tokens from model_calls where run_id = $1 order by call_id",
      [run_id],
    ),
  );
  expect(rows.map((row) => [row.attempt, row.finish_reason, row.estimated])).toEqual([
    [1, "lost", true],
    [1, "stop", false],
    [2, "stop", false],
    [2, "stop", false],
  ]);
  expect(Number(rows[0]?.input_tokens)).toBeGreaterThan(100);
});

it("tries the models of a node in order, each if the one before is unavailable", async () => {
  const { database: db } = own;
  const tenant = await buildTenant(db);
  const run_id = await buildRun(db, tenant);
  const endpoint = { protocol: "openai" as const, base_url: `${stub.url}/v1`, headers: {} };
  const caller = createModelCaller({
    db,
    models: {
      resolve: async (_, { model = "" }) => ({
        endpoint,
        model,
        connection: null,
        fetch: globalThis.fetch,
        secrets: [],
      }),
    },
    prices: { own: {}, listed: {} },
  });
  const ask = (path: string) =>
    caller.call({
      ...tenant,
      run_id,
      path,
      attempt: 1,
      step: 1,
      choice: { model: "first" },
      fallback_models: ["second", "third"],
      repeated: false,
      request: { messages: [{ role: "user", content: "Hello?" }] },
      signal: AbortSignal.timeout(10_000),
    });
  const asked = (from: number): unknown[] => stub.calls.slice(from).map(({ body }) => body.model);
  const before = stub.calls.length;
  stub.next({ status: 503 }, { status: 429 }, { text: ["here"] });
  expect(await ask("a")).toMatchObject({ text: "here", model: "third" });
  expect(asked(before)).toEqual(["first", "second", "third"]);
  // An error that another model would return as well is not retried with one.
  const next = stub.calls.length;
  stub.next({ status: 401 });
  await expect(ask("b")).rejects.toMatchObject({ code: "model_refused" });
  expect(asked(next)).toEqual(["first"]);
});

it("prefers the operator's prices to the published ones and reports errors in them", () => {
  const write = (content: string): string => {
    const file = join(folder, "prices.json");
    writeFileSync(file, content);
    return file;
  };
  const million = { input: 1_000_000, output: 0, cached: 0 };
  const prices = readPrices(write('{"gpt-4o": {"input": 9, "output": 9}, "ours-": {"input": 0, "output": 0}}'));
  const models = ["gpt-4o", "gpt-4o-mini", "gpt-4o-2024-08-06", "gpt-4o-audio", "ours-2", "theirs"];
  expect(models.map((model) => costOf(prices, model, million))).toEqual([9, 0.15, 9, 9, 0, null]);
  // Only dated versions share a published price; another model with the same prefix has its own.
  const published = readPrices(undefined);
  const named = ["gpt-4.1", "gpt-4.1-2025-04-14", "gpt-4.1-nano", "claude-sonnet-4-5-20250929", "constructor"];
  expect(named.map((model) => costOf(published, model, million))).toEqual([2, 2, null, 3, null]);
  expect(() => readPrices(write('{"m": {"input": "cheap"}}'))).toThrow(/prices\.json is not valid:[^]*input/);
  expect(() => readPrices(write("{"))).toThrow(/JSON/);
});
