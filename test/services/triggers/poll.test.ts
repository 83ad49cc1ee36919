import { uuidv7 } from "uuidv7";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createGuardedFetch } from "../../../src/platform/fetch/guarded-fetch.ts";
import { createGuardedSockets } from "../../../src/platform/fetch/guarded-sockets.ts";
import { queueFirings } from "../../../src/stores/triggers/firings.ts";
import { pollTrigger } from "../../../src/services/triggers/poll.ts";
import { loadConfig } from "../../../src/config.ts";
import { connectTemporal } from "../../../src/temporal/connection.ts";
import { triggerScheduleId } from "../../../src/temporal/ids.ts";
import { echo, openTenant, type ApiTenant } from "../../api/tenant.ts";
import { startHttpTarget, type HttpTarget } from "../../support/http-target.ts";
import { eventually } from "../../support/scratch.ts";
import { dataConverter } from "../../support/payloads.ts";

let tenant: ApiTenant;
let target: HttpTarget;
let answer: { status: number; body: string };
beforeAll(async () => {
  [tenant, target] = await Promise.all([openTenant(), startHttpTarget()]);
  for (const path of ["/status", "/else"])
    target.on(path, (_, response) => void response.writeHead(answer.status).end(answer.body));
});
afterAll(() => target?.close());

async function create(config: object): Promise<string> {
  const { status, body } = await tenant.secret.post("/v2/triggers", {
    project_id: await tenant.deploy(echo()),
    provider_id: "http",
    trigger_id: "http.changed",
    config: { url: `${target.url}/status`, ...config },
    inputs: { "in-0": "payload" },
  });
  expect(status, JSON.stringify(body)).toBe(201);
  return body.id;
}
const poll = async (id: string): Promise<void> => {
  const guardedFetch = createGuardedFetch({ allow: ["loopback"] });
  const sockets = createGuardedSockets({ allow: [] });
  const connections = { resolve: () => Promise.reject(new Error("an address is asked without a connection")) };
  await tenant.withDatabase((db) => {
    const deps = { db, guardedFetch, sockets, connections, version: "test" };
    return pollTrigger(deps, tenant.org_id, id, new AbortController().signal);
  });
  await guardedFetch.close();
};
const firings = (id: string): Promise<Record<string, unknown>[]> =>
  tenant.withDatabase((db) =>
    db.system((connection) =>
      connection.query("select run_id from trigger_firings where trigger_id = $1 order by created_at", [id]),
    ),
  );

it("a polling trigger starts a run when the value changes, but not for the first value", async () => {
  answer = { status: 200, body: JSON.stringify({ state: { name: "green" }, at: 1 }) };
  const id = await create({ json_path: "$.state" });
  await poll(id);
  answer = { status: 200, body: JSON.stringify({ at: 2, state: { name: "green" } }) };
  await poll(id);
  expect(await firings(id)).toEqual([]);
  answer = { status: 200, body: JSON.stringify({ state: { name: "red" } }) };
  await poll(id);
  await poll(id);
  const [firing, ...more] = await firings(id);
  expect(more).toEqual([]);
  const run = await eventually("the run", async () => {
    const { status, body } = await tenant.secret.get(`/v2/runs/${String(firing?.["run_id"])}`);
    return status === 200 && body.state === "COMPLETED" ? body : undefined;
  });
  expect(run.run_type).toBe("trigger");
  expect(JSON.parse(run.outputs["out-0"])).toEqual({
    url: `${target.url}/status`,
    value: { name: "red" },
    previous: { name: "green" },
    checked_at: expect.any(String),
  });
});

it("a failed poll is reported, and a change of the URL or path clears the last value", async () => {
  answer = { status: 200, body: "one" };
  const id = await create({});
  const error = async (): Promise<string> => (await tenant.secret.get(`/v2/triggers/${id}`)).body.last_error;
  await poll(id);
  answer = { status: 503, body: "no" };
  await poll(id);
  expect(await error()).toContain("503");
  answer = { status: 200, body: JSON.stringify("x".repeat(70_000)) };
  await poll(id);
  expect(await error()).toContain("json_path");
  await tenant.secret.patch(`/v2/triggers/${id}`, { config: { url: `${target.url}/else`, json_path: "$.a" } });
  answer = { status: 200, body: "no JSON" };
  await poll(id);
  expect(await error()).toContain("not JSON");
  answer = { status: 200, body: JSON.stringify({ a: 1 }) };
  await poll(id);
  expect([await error(), await firings(id)]).toEqual([null, []]);
  await tenant.secret.patch(`/v2/triggers/${id}`, { enabled: false });
  answer = { status: 200, body: JSON.stringify({ a: 2 }) };
  await poll(id);
  expect(await firings(id)).toEqual([]);
});

it("a response from a URL that was replaced during the poll is ignored", async () => {
  const id = await create({ url: `${target.url}/moved` });
  target.on("/moved", async (_, response) => {
    const { status } = await tenant.secret.patch(`/v2/triggers/${id}`, { config: { url: `${target.url}/else` } });
    response.writeHead(status).end("old");
  });
  answer = { status: 200, body: "new" };
  await poll(id);
  await poll(id);
  expect(target.requests.slice(-2).map(({ url }) => url)).toEqual(["/moved", "/else"]);
  expect(await firings(id)).toEqual([]);
});

it("waiting firings of a disabled trigger start no run", async () => {
  const id = await create({});
  await tenant.secret.patch(`/v2/triggers/${id}`, { enabled: false });
  const run_id = uuidv7();
  const firing = { run_id, org_id: tenant.org_id, trigger_id: id, key: "k", depth: 0, payload: { value: 1 } };
  await tenant.withDatabase((db) => db.org(tenant.org_id, (connection) => queueFirings(connection, [firing])));
  const failed = async () =>
    (await tenant.secret.get(`/v2/triggers/${id}/firings`, { query: { state: "failed" } })).body.data;
  await eventually("nothing that waits", async () => (await failed()).length === 1);
  expect(await failed()).toMatchObject([{ firing_id: run_id, error: expect.stringContaining("disabled") }]);
  expect((await tenant.secret.get(`/v2/runs/${run_id}`)).status).toBe(404);
});

it("polls are made by a Temporal schedule", async () => {
  answer = { status: 200, body: "1" };
  const id = await create({ every_minutes: 30 });
  const before = target.requests.length;
  const { temporalAddress, databaseUrl } = tenant.target;
  const temporal = await connectTemporal(
    loadConfig({ DATABASE_URL: databaseUrl, TEMPORAL_ADDRESS: temporalAddress }),
    dataConverter,
  );
  const schedule = temporal.client.schedule.getHandle(triggerScheduleId(id));
  const { spec, state } = await schedule.describe();
  expect([spec.intervals?.[0]?.every, state.paused]).toEqual([1_800_000, false]);
  await schedule.trigger();
  await eventually("a request", () => target.requests.length > before);
  await tenant.secret.delete(`/v2/triggers/${id}`);
  await expect(schedule.describe()).rejects.toThrow();
  await temporal.close();
});
