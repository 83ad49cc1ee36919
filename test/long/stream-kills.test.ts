import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { isTerminal, type RunState } from "../../src/domain/runs/run.ts";
import { startModelStub, type ModelStub } from "../../src/dev/model-stub.ts";
import { eventsOf, framesOf } from "../api/runs/streams.ts";
import { openTenant, type ApiTenant } from "../api/tenant.ts";
import { flow } from "../engine/support.ts";
import { recordKill } from "../kill/kill-table.ts";
import { client, type TestClient } from "../support/client.ts";
import { eventually } from "../support/scratch.ts";
import { startService, type OwnService } from "../support/service.ts";

const RUNS = 20;
const PIECES = Array.from({ length: 30 }, (_, at) => `word${at} `);
const WHOLE = PIECES.join("");

let own: OwnService;
let stub: ModelStub;
let tenant: ApiTenant;
beforeAll(async () => {
  [own, stub] = await Promise.all([startService({ apis: 2 }), startModelStub()]);
  tenant = await openTenant(own);
});
afterAll(async () => {
  await own?.close();
  await stub?.close();
});

/** A reader: the text it has, and how often it was disconnected. */
interface Reader {
  text: string;
  breaks: number;
}

/** Reads until there is a result; starts again after a broken read. */
async function persist<T>(reader: Reader, read: () => Promise<T | undefined>): Promise<T> {
  for (;;) {
    const found = await read().catch((error: unknown) => {
      if (error instanceof Error && error.name === "AssertionError") throw error;
      return undefined;
    });
    if (found !== undefined) return found;
    reader.breaks += 1;
    await sleep(100);
  }
}

/** Follows the stream of an inference run to its end; after a disconnect, the same key returns it from the beginning. */
function followInference(api: TestClient, path: string, key: string, reader: Reader): Promise<RunState> {
  return persist(reader, async () => {
    let shown = "";
    const headers = { "idempotency-key": key };
    for await (const line of framesOf(await api.raw("POST", path, {}, { headers }))) {
      const frame = JSON.parse(line) as { outputs?: Record<string, string>; reset?: true; state: RunState };
      const piece = frame.outputs?.["out-0"];
      if (piece !== undefined) shown = frame.reset === true ? piece : shown + piece;
      expect(WHOLE.startsWith(shown), shown).toBe(true);
      reader.text = shown;
      if (isTerminal(frame.state)) return frame.state;
    }
    return undefined;
  });
}

/** Follows the events of a run to its end; after a disconnect, continues after the last event seen. */
function followEvents(api: TestClient, runId: string, reader: Reader): Promise<"run.finished"> {
  let [last, attempt] = ["", 0];
  return persist(reader, async () => {
    const headers = { accept: "text/event-stream", ...(last !== "" && { "last-event-id": last }) };
    const response = await api.raw("GET", `/v2/runs/${runId}`, undefined, { headers });
    for await (const { id, event, data } of eventsOf(response)) {
      if (id !== "") last = id;
      if (event === "run.finished") return event;
      if (event !== "output.delta") continue;
      const delta = JSON.parse(data).data;
      if (delta.attempt > attempt) reader.text = "";
      attempt = Math.max(attempt, delta.attempt);
      if (delta.attempt < attempt) continue;
      expect(delta.offset).toBeLessThanOrEqual(reader.text.length);
      reader.text += delta.text.slice(reader.text.length - delta.offset);
      expect(WHOLE.startsWith(reader.text), reader.text).toBe(true);
    }
    return undefined;
  });
}

it("a reader of a stream receives the whole text once, whichever process is killed", async () => {
  stub.answer(() => ({ text: PIECES, pauseMs: 150 }));
  const credential = { base_url: `${stub.url}/v1` };
  const connection = { name: "stub", provider_id: "openai_compatible", scheme: "none", credential };
  const { body: made } = await tenant.secret.post("/v2/connections", connection);
  const config = { model: "m", connection_id: made.connection_id, prompt: "Tell" };
  const retry = { max_attempts: 5, initial_interval_ms: 10 };
  const project = await tenant.deploy(
    flow(
      [
        { id: "llm-0", type: "llm", config, retry },
        { id: "out-0", type: "output" },
      ],
      ["llm-0>out-0"],
    ),
  );
  const [first, second] = own.api;
  if (first === undefined || second === undefined) throw new Error("two api processes were asked for");
  const reader = (): Reader => ({ text: "", breaks: 0 });
  const callers = Array.from({ length: RUNS }, reader);
  const path = `/inference/v0/stream/${tenant.org_id}/${project}`;
  const calls = callers.map((each, n) =>
    followInference(client({ url: first.url ?? "" }, tenant.publicKey), path, `call-${n}`, each),
  );
  const listed = await eventually("all runs are there", async () => {
    const { body } = await tenant.secret.get("/v2/runs", { query: { page_size: 100 } });
    return body.data.length === RUNS ? (body.data as { run_id: string }[]) : undefined;
  });
  const watchers = listed.map(({ run_id }) => ({ run_id, ...reader() }));
  const events = watchers.map((each) =>
    followEvents(client({ url: second.url ?? "" }, tenant.secretKey), each.run_id, each),
  );

  const texts = (readers: readonly Reader[]) => readers.filter(({ text }) => text.length > 20).length;
  await eventually("half of the texts are being read", () => texts(callers) + texts(watchers) >= RUNS, 60_000);
  await own.worker[0]?.kill();
  await own.worker[0]?.restart();
  await sleep(500);
  await first.kill();
  await first.restart();
  await Promise.all([...calls, ...events]);

  expect(callers.map(({ text }) => text)).toEqual(callers.map(() => WHOLE));
  expect(watchers.map(({ text }) => text)).toEqual(watchers.map(() => WHOLE));
  const runs = await tenant.withDatabase((db) =>
    db.org(tenant.org_id, (c) =>
      c.query<{ state: string; outputs: unknown }>("select distinct state, outputs from runs", []),
    ),
  );
  expect(runs).toEqual([{ state: "COMPLETED", outputs: { "out-0": { v: WHOLE } } }]);
  expect(callers.some(({ breaks }) => breaks > 0)).toBe(true);
  recordKill({
    killed: "worker, api",
    when: `${RUNS} models are writing, each read by two`,
    runs: RUNS,
    outcome: `all COMPLETED, every reader had the whole text; ${stub.calls.length} requests to the model`,
  });
});
