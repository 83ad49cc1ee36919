import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { cloneDatabase } from "../../support/database.ts";
import { startDatabaseProxy, type DatabaseProxy } from "../../support/database-proxy.ts";
import { startServiceProcess } from "../../support/service-processes.ts";
import {
  client,
  createOrganisation,
  startService,
  type OwnService,
  type TestOrganisation,
} from "../../support/service.ts";
import { echoFlow } from "../echo-flow.ts";

let database: Awaited<ReturnType<typeof cloneDatabase>>;
let proxy: DatabaseProxy;
let own: OwnService;
let org: TestOrganisation;
let flowId: string;

beforeAll(async () => {
  database = await cloneDatabase(inject("millrace"));
  proxy = await startDatabaseProxy(database.url);
  // Production intervals, so that only the statements of an idle installation's requests are counted.
  own = await startService({
    env: {
      DATABASE_URL: proxy.url,
      MILLRACE_SWEEP_INTERVAL_MS: "",
      MILLRACE_STUCK_AFTER_MS: "",
      MILLRACE_SCHEDULE_CHECK_MS: "",
    },
    workers: 0,
  });
  org = await createOrganisation({ databaseUrl: database.url });
  const { body } = await client(own, org.secretKey).post("/v2/projects", { name: "Echo", flow: echoFlow() });
  flowId = body.project_id;
});
afterAll(async () => {
  await own?.close();
  await proxy?.close();
  await database?.drop();
});

/** Statements whose results are cached for a second or longer, so they do not belong to one request. */
const SHARED = /set_config\('millrace.org_id'|from (projects|flow_versions v|api_keys) |update api_keys /;

const INSERT_RUN = expect.stringContaining("insert into runs ") as unknown;
const RECORD_RUN = expect.stringContaining("from record_run(") as unknown;
const TAKE_KEY = expect.stringContaining("insert into idempotency_keys as k ") as unknown;

async function statementsOf(headers: Record<string, string> = {}): Promise<string[]> {
  proxy.take();
  const path = `/inference/v0/run/${org.org_id}/${flowId}`;
  const answer = await client(own, org.publicKey).post(path, { "in-0": "x" }, { headers });
  expect(answer).toMatchObject({ status: 200, body: { state: "COMPLETED" } });
  // Statements that a request leaves for later count as well.
  await delay(100);
  return proxy.take().filter((statement) => !SHARED.test(statement));
}

/** The smallest number of several calls: on a loaded machine, a start that is not eager goes through the task queue. */
async function fewest(headers: () => Record<string, string>): Promise<string[]> {
  const all: string[][] = [];
  for (let call = 0; call < 8; call += 1) all.push(await statementsOf(headers()));
  return all.toSorted((a, b) => a.length - b.length)[0] ?? [];
}

describe("round trips to the database", () => {
  it("are two for an inference: the run's insert, and its terminal write, which wakes the waiting call", async () => {
    expect(await fewest(() => ({}))).toEqual([INSERT_RUN, RECORD_RUN]);
  });

  it("are three with an Idempotency-Key, because its response is not stored beside the run's outputs", async () => {
    let at = 0;
    const statements = await fewest(() => ({ "Idempotency-Key": `key-${(at += 1)}` }));
    expect(statements).toEqual([TAKE_KEY, INSERT_RUN, RECORD_RUN]);
  });

  it("for a repeated key read the response from the run", async () => {
    const path = `/inference/v0/run/${org.org_id}/${flowId}`;
    const call = () =>
      client(own, org.publicKey).post(path, { "in-0": "y" }, { headers: { "Idempotency-Key": "again" } });
    const first = await call();
    const again = await call();
    expect(again.body).toEqual(first.body);
    expect([first, again].map(({ status, headers }) => [status, headers.get("idempotent-replayed")])).toEqual([
      [200, null],
      [200, "true"],
    ]);
    const other = await client(own, org.publicKey).post(
      path,
      { "in-0": "z" },
      { headers: { "Idempotency-Key": "again" } },
    );
    expect([other.status, other.body.code]).toEqual([409, "idempotency_conflict"]);
  });

  it("are as many for a check of a flow with many actions and called flows as with one of each", async () => {
    const secret = client(own, org.secretKey);
    const document = {
      openapi: "3.0.3",
      info: { title: "Pets", version: "1" },
      servers: [{ url: "https://pets.example.com" }],
      paths: { "/pets": { get: { operationId: "pets", responses: { 200: { description: "Pets" } } } } },
    };
    const { body: provider } = await secret.post("/v2/providers", { openapi: document });
    const { body: called } = await secret.post("/v2/projects", { name: "Called", flow: echoFlow("{{in-0}}!") });
    const checked = async (count: number): Promise<number> => {
      const each = Array.from({ length: count }, (_, at) => at);
      const action = { provider_id: provider.provider_id, action_id: "pets", inputs: {} };
      const nodes = [
        ...each.map((at) => ({ id: `act-${at}`, type: "action", config: action })),
        ...each.map((at) => ({
          id: `sub-${at}`,
          type: "subflow",
          config: { project_id: at % 2 === 0 ? flowId : called.project_id, inputs: { "in-0": '"x"' } },
        })),
        { id: "out-0", type: "output" },
      ];
      const edges = nodes.slice(0, -1).map(({ id }) => ({ source: id, target: "out-0" }));
      proxy.take();
      const flow = { schema_version: 1, name: "Many", nodes, edges };
      const { body } = await secret.post("/v2/flows/validate", { flow }, { query: { expand: "scope" } });
      expect(body.problems).toEqual([]);
      return proxy.take().length;
    };
    await checked(2);
    // Others' statements, for example of a cache that is renewed, may come in between.
    const many = Math.min(await checked(20), await checked(20), await checked(20));
    expect(many).toBeLessThanOrEqual(await checked(2));
  });

  it("are fewer than two transactions a second while the service is idle", async () => {
    const worker = await startServiceProcess("worker", own.env, inject("millrace").stateDir);
    await delay(3000);
    proxy.take();
    await delay(10_000);
    const statements = proxy.take();
    await worker.kill();
    let within = false;
    const transactions = statements.filter((statement) => {
      const begins = !within;
      within = /^begin\b/.test(statement) || (within && !/^(commit|rollback)\b/.test(statement));
      return begins;
    });
    expect(transactions.length, statements.join("\n")).toBeLessThan(20);
  });
});
