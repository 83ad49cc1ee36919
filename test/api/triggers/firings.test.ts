import { createHmac } from "node:crypto";
import { uuidv7 } from "uuidv7";
import { beforeAll, describe, expect, it } from "vitest";
import { echo, openTenant, type ApiTenant } from "../tenant.ts";
import { client, type Answer, type TestClient } from "../../support/client.ts";

const UNKNOWN = "0197f0a0-0000-7000-8000-000000000000";
const MAPPED = { "in-0": "payload.body.order" };

let mine: ApiTenant;
let others: ApiTenant;
let viewer: TestClient;
let project_id: string;
beforeAll(async () => {
  [mine, others] = await Promise.all([openTenant(), openTenant()]);
  viewer = await mine.user("viewer");
  project_id = await mine.deploy(echo());
});

interface Hook {
  readonly id: string;
  readonly path: string;
  /** Sends a request to the trigger's URL. */
  readonly send: (body: unknown) => Promise<Answer>;
}
async function hook(of = project_id): Promise<Hook> {
  const wanted = { project_id: of, provider_id: "millrace", trigger_id: "webhook", inputs: MAPPED };
  const { status, body } = await mine.secret.post("/v2/triggers", wanted);
  expect(status, JSON.stringify(body)).toBe(201);
  const address = new URL(body.address).pathname;
  const path = `/v2/triggers/${body.id}`;
  return { id: body.id, path, send: (sent) => client(mine.target).post(address, sent) };
}
const firingsOf = async (
  { path }: Hook,
  query: Record<string, string | number> = {},
  api: TestClient = mine.secret,
) => {
  const { status, body } = await api.get(`${path}/firings`, { query });
  expect(status, JSON.stringify(body)).toBe(200);
  return body.data;
};
const repeat = ({ path }: Hook, firing: string, options: { headers?: Record<string, string> } = {}) =>
  mine.secret.post(`${path}/firings/${firing}/repeat`, undefined, options);
const ended = async (run_id: string) => {
  await expect
    .poll(async () => (await mine.secret.get(`/v2/runs/${run_id}`)).body.state, { timeout: 30_000 })
    .toBe("COMPLETED");
  return (await mine.secret.get(`/v2/runs/${run_id}`)).body;
};

describe("the firings of a trigger", () => {
  it("are listed with their result, also if they started no run, and can be repeated after a fix", async () => {
    const one = await hook();
    const started = await one.send({ order: "A" });
    expect(started.status).toBe(202);
    expect((await one.send({ purchase: 9007199254740993n.toString() })).status).toBe(422);
    const last = await one.send({ order: "C" });
    await ended(last.body.run_id);
    // The trigger itself no longer records the error.
    expect((await mine.secret.get(one.path)).body).toMatchObject({ last_error: null, last_run_id: last.body.run_id });
    const [third, second, first] = await firingsOf(one);
    expect(third).toEqual({
      firing_id: last.body.run_id,
      trigger_id: one.id,
      state: "started",
      error: null,
      payload: { body: { order: "C" }, headers: expect.any(Object), query: {} },
      payload_omitted: false,
      repeat_of: null,
      run_id: last.body.run_id,
      run_state: "COMPLETED",
      created_at: expect.any(String),
    });
    expect(second).toMatchObject({
      state: "failed",
      error: expect.stringContaining("order"),
      payload: { body: { purchase: "9007199254740993" } },
      run_id: null,
      run_state: null,
    });
    expect(first).toMatchObject({ firing_id: started.body.run_id, state: "started" });
    expect((await mine.secret.get(`${one.path}/firings/${second.firing_id}`)).body).toEqual(second);

    const vain = await repeat(one, second.firing_id);
    expect([vain.status, vain.body.detail[0].loc]).toEqual([422, ["path", "firing_id"]]);
    await mine.secret.patch(one.path, { inputs: { "in-0": "payload.body.purchase" }, enabled: false });
    const options = { headers: { "Idempotency-Key": `repeat-${second.firing_id}` } };
    const [again, replayed] = [
      await repeat(one, second.firing_id, options),
      await repeat(one, second.firing_id, options),
    ];
    expect([again.status, again.headers.get("location"), replayed.body]).toEqual([
      202,
      `/v2/runs/${again.body.run_id}`,
      again.body,
    ]);
    expect(await ended(again.body.run_id)).toMatchObject({ run_type: "trigger", ran_by_id: one.id });
    const { body: outputs } = await mine.secret.get(`/v2/runs/${again.body.run_id}`);
    expect(JSON.stringify(outputs)).toContain("9007199254740993");
    const all = await firingsOf(one);
    expect(all.map((each: Record<string, unknown>) => [each["state"], each["repeat_of"]])).toEqual([
      ["started", second.firing_id],
      ["failed", second.firing_id],
      ["started", null],
      ["failed", null],
      ["started", null],
    ]);
    expect(all[0]).toMatchObject({ firing_id: again.body.firing_id, run_state: "COMPLETED" });
    // The inputs of the first firing can no longer be computed; its record is unchanged.
    expect((await repeat(one, first.firing_id)).status).toBe(422);
    expect((await firingsOf(one)).find((each: { firing_id: string }) => each.firing_id === first.firing_id)).toEqual(
      first,
    );
  });

  it("are paged, filtered by state, and bound to their cursor", async () => {
    const one = await hook();
    for (const order of ["a", "b"]) await one.send({ order });
    await one.send({});
    const page = await mine.secret.get(`${one.path}/firings`, { query: { page_size: 2 } });
    expect([page.body.data.length, page.body.has_more]).toEqual([2, true]);
    const next = await mine.secret.get(`${one.path}/firings`, { query: { page_size: 2, cursor: page.body.cursor } });
    const ids = [...page.body.data, ...next.body.data].map(({ firing_id }) => firing_id);
    expect([new Set(ids).size, next.body.has_more]).toEqual([3, false]);
    expect((await firingsOf(one, { order: "asc" })).map(({ firing_id }: { firing_id: string }) => firing_id)).toEqual(
      ids.toReversed(),
    );
    expect(await firingsOf(one, { state: "failed" })).toMatchObject([{ state: "failed" }]);
    expect(await firingsOf(one, { state: "pending" })).toEqual([]);
    const other = await mine.secret.get(`${one.path}/firings`, {
      query: { state: "failed", cursor: page.body.cursor },
    });
    expect([other.status, other.body.code]).toEqual([400, "cursor_mismatch"]);
    expect((await mine.secret.get(`${one.path}/firings`, { query: { state: "lost" } })).status).toBe(422);
  });

  it("keep last_run_id of the trigger, however many have failed since", async () => {
    const one = await hook();
    const { body } = await one.send({ order: "a" });
    for (let at = 0; at < 22; at += 1) await one.send({});
    expect((await mine.secret.get(one.path)).body.last_run_id).toBe(body.run_id);
  });

  it("succeed when a sender redelivers a failed request, and then only once", async () => {
    const secret = "a long secret";
    const wanted = {
      project_id,
      provider_id: "millrace",
      trigger_id: "webhook",
      config: { verification: "github", secret },
      inputs: { "in-0": "payload.body.missing" },
    };
    const { body: made } = await mine.secret.post("/v2/triggers", wanted);
    const text = JSON.stringify({ order: "a" });
    const headers = { "x-hub-signature-256": `sha256=${createHmac("sha256", secret).update(text).digest("hex")}` };
    const deliver = () => client(mine.target).post(new URL(made.address).pathname, { order: "a" }, { headers });
    expect((await deliver()).status).toBe(422);
    await mine.secret.patch(`/v2/triggers/${made.id}`, { inputs: { "in-0": "payload.body.order" } });
    const [second, third] = [await deliver(), await deliver()];
    expect([second.status, second.headers.get("idempotent-replayed")]).toEqual([202, null]);
    expect([third.body, third.headers.get("idempotent-replayed")]).toEqual([second.body, "true"]);
    const { body: list } = await mine.secret.get(`/v2/triggers/${made.id}/firings`);
    expect(list.data).toMatchObject([{ state: "started", error: null, run_id: second.body.run_id }]);
    // As if the process had died after it recorded the delivery and before it started a run.
    const run_id = uuidv7();
    await mine.withDatabase((db) =>
      db.org(mine.org_id, (connection) =>
        connection.query(
          "update trigger_firings set run_id = $1, state = 'pending', payload = null where run_id = $2",
          [run_id, second.body.run_id],
        ),
      ),
    );
    expect((await deliver()).body).toEqual({ run_id });
    expect((await ended(run_id)).outputs).toEqual({ "out-0": "a" });
  });

  it("keep no payload that the flow masks, and no long payload of a run that has started", async () => {
    const masked = await hook(await mine.deploy({ ...echo(), settings: { redact: ["$.inputs.in-0"] } }));
    await masked.send({ order: "planted-secret" });
    await masked.send({ purchase: "planted-secret" });
    const kept = await firingsOf(masked);
    expect(kept.map((each: Record<string, unknown>) => [each["state"], each["payload"]])).toEqual([
      ["failed", null],
      ["started", null],
    ]);
    expect(JSON.stringify(kept)).not.toContain("planted");
    const refused = await repeat(masked, kept[0].firing_id);
    expect([refused.status, refused.body.code]).toEqual([409, "conflict"]);

    const one = await hook();
    await one.send({ order: "x".repeat(70_000) });
    await one.send({ purchase: "x".repeat(70_000) });
    const [failed, started] = await firingsOf(one);
    expect([failed.payload, failed.payload_omitted, started.payload, started.payload_omitted]).toEqual([
      null,
      true,
      null,
      false,
    ]);
    const { body: whole } = await mine.secret.get(`${one.path}/firings/${failed.firing_id}`);
    expect([whole.payload.body.purchase.length, whole.payload_omitted]).toEqual([70_000, false]);
  });

  it("can be repeated only after they finish, and keep the depth of the calling run (self-call)", async () => {
    const one = await hook();
    const { body } = await one.send({ order: "a" });
    const sql = <Row>(text: string, id: string): Promise<Row[]> =>
      mine.withDatabase((database) => database.system((db) => db.query<Row & object>(text, [id])));
    const again = await repeat(one, body.run_id, { headers: { "User-Agent": "Millrace/1" } });
    const depth = "select depth, root from trigger_firings where run_id = $1";
    expect(await sql(depth, again.body.firing_id)).toEqual([{ depth: 1, root: "unknown" }]);
    await sql("update trigger_firings set state = 'pending' where run_id = $1", body.run_id);
    const early = await repeat(one, body.run_id);
    expect([early.status, early.body.code]).toEqual([409, "conflict"]);
    expect(await firingsOf(one, { state: "pending" })).toHaveLength(1);
  });

  it("are also listed for schedules and run events", async () => {
    const trigger = async (trigger_id: string, config: object, inputs: object) => {
      const wanted = { project_id, provider_id: "millrace", trigger_id, config, inputs };
      const { status, body } = await mine.secret.post("/v2/triggers", wanted);
      expect(status, JSON.stringify(body)).toBe(201);
      return { id: body.id, path: `/v2/triggers/${body.id}` } as Hook;
    };
    const due = await trigger("schedule", { cron: "* * * * * *" }, { "in-0": "payload.missing" });
    await expect.poll(async () => (await firingsOf(due)).length, { timeout: 30_000 }).toBeGreaterThan(1);
    await mine.secret.patch(due.path, { enabled: false, inputs: { "in-0": "payload.scheduled_at" } });
    const [timed] = await firingsOf(due);
    expect(timed).toMatchObject({ state: "failed", payload: { scheduled_at: expect.any(String) } });
    const again = await repeat(due, timed.firing_id);
    expect(await ended(again.body.run_id)).toMatchObject({ run_type: "scheduled" });

    const watched = await mine.deploy(echo());
    const after = await trigger("run_event", { project_id: watched }, { "in-0": "payload.nothing" });
    const { body: run } = await mine.secret.post("/v2/runs", { project_id: watched, inputs: { "in-0": "x" } });
    await expect
      .poll(async () => (await firingsOf(after)).map((each: { state: string }) => each.state), { timeout: 30_000 })
      .toEqual(["failed"]);
    const [seen] = await firingsOf(after);
    expect(seen).toMatchObject({ payload: { run_id: run.run_id, state: "COMPLETED" }, error: expect.any(String) });
  });

  it("are hidden from other organisations, public keys and callers without a credential; viewers can only read", async () => {
    const one = await hook();
    await one.send({ order: "a" });
    const [{ firing_id }] = await firingsOf(one, {}, viewer);
    const addresses = (path: string, firing: string): string[] => [
      `${path}/firings`,
      `${path}/firings/${firing}`,
      `${path}/firings/${firing}/repeat`,
    ];
    const call = async (api: TestClient, [list = "", get = "", again = ""]: string[]) =>
      (await Promise.all([api.get(list), api.get(get), api.post(again, undefined)])).map(({ status }) => status);
    expect(await call(others.secret, addresses(one.path, firing_id))).toEqual([404, 404, 404]);
    expect(await call(client(mine.target, mine.publicKey), addresses(one.path, firing_id))).toEqual([403, 403, 403]);
    expect(await call(client(mine.target), addresses(one.path, firing_id))).toEqual([401, 401, 401]);
    expect(await call(viewer, addresses(one.path, firing_id))).toEqual([200, 200, 403]);
    expect(await call(mine.secret, addresses(one.path, UNKNOWN))).toEqual([200, 404, 404]);
    // A firing is not found under another trigger.
    expect(await call(mine.secret, addresses((await hook()).path, firing_id))).toEqual([200, 404, 404]);
    expect(await call(mine.secret, addresses(one.path, "x"))).toEqual([200, 422, 422]);
    expect(await firingsOf(one)).toHaveLength(1);
  });
});
