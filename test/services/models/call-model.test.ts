import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startModelStub } from "../../../src/dev/model-stub.ts";
import type { ModelStub } from "../../../src/dev/model-stub.ts";
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

it("writes down, once and estimated, the call of a process that died", async () => {
  const { database: db } = own;
  const tenant = await buildTenant(db);
  const run_id = await buildRun(db, tenant);
  const endpoint = { protocol: "openai" as const, base_url: `${stub.url}/v1`, headers: {} };
  const resolved = { endpoint, model: "m", connection: null, fetch: globalThis.fetch, secrets: [] };
  const caller = createModelCaller({ db, models: { resolve: async () => resolved }, prices: {} });
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
  // Nothing of the first attempt was written; of the second one everything was.
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

it("takes an operator's prices before its own, and says what is wrong with them", () => {
  const write = (content: string): string => {
    const file = join(folder, "prices.json");
    writeFileSync(file, content);
    return file;
  };
  const million = { input: 1_000_000, output: 0, cached: 0 };
  const prices = readPrices(write('{"gpt-4o": {"input": 9, "output": 9}, "ours-": {"input": 0, "output": 0}}'));
  expect(["gpt-4o", "gpt-4o-mini", "ours-2", "theirs"].map((model) => costOf(prices, model, million))).toEqual([
    9,
    0.15,
    0,
    null,
  ]);
  expect(() => readPrices(write('{"m": {"input": "cheap"}}'))).toThrow(/prices\.json is not usable:[^]*input/);
  expect(() => readPrices(write("{"))).toThrow(/JSON/);
});
