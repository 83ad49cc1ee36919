import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startHttpTarget, type HttpTarget } from "../../support/http-target.ts";
import { createOrganisation } from "../../support/service.ts";
import type { TestClient } from "../../support/client.ts";
import { checkedClient } from "../http/conformance.ts";
import { startInProcess } from "../in-process.ts";
import { echo, openTenant, type ApiTenant } from "../tenant.ts";
import { SUBSCRIPTIONS, delivered, places, subscribe, verifies } from "./webhooks.ts";

const UNKNOWN = "0197f0a0-0000-7000-8000-000000000000";
const SECRET = /^whsec_[A-Za-z0-9+/]{43}=$/;

/** Invalid bodies and the locations of their errors, each with a title. */
function titled(
  cases: ReadonlyArray<readonly [Record<string, unknown>, unknown[][]]>,
): Array<[string, Record<string, unknown>, unknown[][]]> {
  return cases.map(([members, expected]) => [JSON.stringify(members).slice(0, 100), members, expected]);
}

describe("webhook subscriptions", () => {
  let mine: ApiTenant;
  let others: ApiTenant;
  let viewer: TestClient;
  let editor: TestClient;
  let receiver: HttpTarget;
  let project: string;
  beforeAll(async () => {
    [mine, others, receiver] = await Promise.all([openTenant(), openTenant(), startHttpTarget()]);
    [viewer, editor, project] = await Promise.all([mine.user("viewer"), mine.user("editor"), mine.deploy(echo())]);
  });
  afterAll(() => receiver?.close());

  const fitting = (more: Record<string, unknown> = {}) => ({ url: `${receiver.url}/in`, events: ["run.*"], ...more });

  describe("a new webhook", () => {
    it("requires only a URL and events, and shows its secret once", async () => {
      const created = await mine.secret.post(SUBSCRIPTIONS, fitting());
      expect(created.status).toBe(201);
      const { secret, ...rest } = created.body;
      expect(secret).toMatch(SECRET);
      expect(rest).toEqual({
        subscription_id: expect.any(String),
        url: `${receiver.url}/in`,
        events: ["run.*"],
        filter: null,
        description: "",
        headers: {},
        status: "enabled",
        disabled_reason: null,
        disabled_at: null,
        failing_since: null,
        failed_attempts: 0,
        last_success_at: null,
        last_failure_at: null,
        previous_secret_expires_at: null,
        created_at: expect.any(String),
        updated_at: expect.any(String),
      });
      const path = `${SUBSCRIPTIONS}/${rest.subscription_id}`;
      expect(created.headers.get("location")).toBe(path);
      const read = await mine.secret.get(path);
      expect([read.status, read.body, read.headers.get("etag")]).toEqual([200, rest, created.headers.get("etag")]);
    });

    it("accepts every field, removes duplicate events and projects, and hides the values of headers", async () => {
      const { id, path } = await subscribe(mine.secret, {
        url: ` ${receiver.url}/hook?team=a `,
        events: ["run.failed", "*", "run.failed"],
        filter: { project_id: [project.toUpperCase(), project] },
        description: "for the night",
        headers: { "X-Gateway": "let me in", Authorization: "Bearer of-mine" },
      });
      const { status, body } = await mine.secret.get(path);
      expect([status, body]).toMatchObject([
        200,
        {
          subscription_id: id,
          url: `${receiver.url}/hook?team=a`,
          events: ["run.failed", "*"],
          filter: { project_id: [project] },
          description: "for the night",
          headers: { "x-gateway": "[redacted]", authorization: "[redacted]" },
        },
      ]);
    });

    it("stores neither secret, headers nor the response for an Idempotency-Key in plaintext", async () => {
      const { status, body } = await mine.secret.post(
        SUBSCRIPTIONS,
        fitting({ headers: { "x-gateway": "open-sesame" } }),
        { headers: { "Idempotency-Key": "hidden" } },
      );
      expect(status).toBe(201);
      const rows = await mine.withDatabase((database) =>
        database.system((db) =>
          db.query<{ row: string }>(
            `select t::text || coalesce(encode(secret, 'escape'), '') || coalesce(encode(headers, 'escape'), '') as row
               from webhook_subscriptions t where subscription_id = $1::uuid
             union all select t::text from idempotency_keys t where org_id = $2::uuid and key = 'hidden'`,
            [body.subscription_id, mine.org_id],
          ),
        ),
      );
      expect(rows).toHaveLength(2);
      expect(JSON.stringify(rows)).not.toContain(body.secret.slice(6, 30));
      expect(JSON.stringify(rows)).not.toContain("open-sesame");
    });

    it("is created once per Idempotency-Key, and shows its secret again to the same caller", async () => {
      const headers = { "Idempotency-Key": "once" };
      const first = await mine.secret.post(SUBSCRIPTIONS, fitting({ description: "once" }), { headers });
      const again = await mine.secret.post(SUBSCRIPTIONS, fitting({ description: "once" }), { headers });
      expect([again.status, again.body]).toEqual([201, first.body]);
      expect(again.headers.get("idempotent-replayed")).toBe("true");
      const other = await mine.secret.post(SUBSCRIPTIONS, fitting({ description: "twice" }), { headers });
      expect(other).toMatchObject({ status: 409, body: { code: "idempotency_conflict" } });
      const { body } = await mine.secret.get(SUBSCRIPTIONS, { query: { page_size: 200 } });
      expect(body.data.filter((each: { description: string }) => each.description === "once")).toHaveLength(1);
    });

    it("whose response was lost is found by the repeated request, with a valid secret, unless it was deleted", async () => {
      const headers = { "Idempotency-Key": "lost" };
      const create = () => mine.secret.post(SUBSCRIPTIONS, fitting({ description: "lost" }), { headers });
      const lose = () =>
        mine.withDatabase((database) =>
          database.system((db) =>
            db.query(
              "update idempotency_keys set response = null, locked_until = now() where org_id = $1::uuid and key = 'lost'",
              [mine.org_id],
            ),
          ),
        );
      const first = await create();
      await lose();
      const again = await create();
      const { subscription_id: id } = first.body;
      expect([again.status, again.body]).toEqual([201, { ...first.body, secret: expect.stringMatching(SECRET) }]);
      const { body: test } = await mine.secret.post(`${SUBSCRIPTIONS}/${id}/test`);
      await delivered(mine.secret, `${SUBSCRIPTIONS}/${id}`, test.delivery_id);
      const request = receiver.requests.find((each) => each.headers["webhook-id"] === test.event_id);
      expect(request && verifies(request, again.body.secret)).toBe(true);
      await mine.secret.delete(`${SUBSCRIPTIONS}/${id}`);
      await lose();
      expect(await create()).toMatchObject({ status: 404, body: { detail: "Webhook subscription not found." } });
    });

    it.each(
      titled([
        [{}, [["url"], ["events"]]],
        [
          { url: 7, events: "run.*", filter: "x", description: 7, headers: [], extra: 1 },
          [["url"], ["events"], ["filter"], ["description"], ["headers"], ["extra"]],
        ],
        [{ url: "" }, [["url"]]],
        [{ url: "example.com/hook" }, [["url"]]],
        [{ url: "ftp://example.com/" }, [["url"]]],
        [{ url: "file:///etc/passwd" }, [["url"]]],
        [{ url: "https://ada:pw@example.com/" }, [["url"]]],
        [{ url: "https://example.com/#part" }, [["url"]]],
        [{ url: "https://example.com/\nx" }, [["url"]]],
        [{ url: "http://" }, [["url"]]],
        [{ url: "http://a:99999/" }, [["url"]]],
        [{ url: `https://example.com/${"x".repeat(2048)}` }, [["url"]]],
        [{ events: [] }, [["events"]]],
        [
          { events: ["run.*", "run.unknown", "", "run", "*.*", "webhook.test", 7] },
          [
            ["events", 1],
            ["events", 2],
            ["events", 3],
            ["events", 4],
            ["events", 5],
            ["events", 6],
          ],
        ],
        [{ events: Array(51).fill("*") }, [["events"]]],
        [{ filter: {} }, [["filter", "project_id"]]],
        [{ filter: { project_id: [] } }, [["filter", "project_id"]]],
        [{ filter: { project_id: ["x"] } }, [["filter", "project_id", 0]]],
        [{ filter: { project_id: Array(101).fill(UNKNOWN) } }, [["filter", "project_id"]]],
        [{ filter: { project_id: [UNKNOWN], more: 1 } }, [["filter", "more"]]],
        [{ filter: { project_id: [UNKNOWN] } }, [["filter", "project_id", 0]]],
        [{ description: "x".repeat(1001) }, [["description"]]],
        [
          { headers: { "x y": "a", "x-a": "b\r\nx-b: c", Host: "h", "X-C": "1", "x-c": "2" } },
          [
            ["headers", "x y"],
            ["headers", "x-a"],
            ["headers", "Host"],
            ["headers", "x-c"],
          ],
        ],
        [
          { headers: Object.fromEntries(Array.from({ length: 9_500 }, (_, n) => [`bad name ${n}`, ""])) },
          [["headers"]],
        ],
        [
          { headers: { "Webhook-Id": "1", "content-type": "x", "user-agent": "x" } },
          [
            ["headers", "Webhook-Id"],
            ["headers", "content-type"],
            ["headers", "user-agent"],
          ],
        ],
        [{ headers: { "x-a": 7 } }, [["headers", "x-a"]]],
        [{ headers: { "x-a": "x".repeat(5000) } }, [["headers"]]],
        [{ headers: Object.fromEntries(Array.from({ length: 21 }, (_, n) => [`x-${n}`, "v"])) }, [["headers"]]],
      ]),
    )("rejects %s with one error and its location", async (_, members, expected) => {
      const complete = Object.keys(members).length === 0 ? {} : fitting(members);
      const found = places(await mine.secret.post(SUBSCRIPTIONS, complete)).map((loc) => JSON.stringify(loc));
      expect(found.toSorted()).toEqual(expected.map((loc) => JSON.stringify(["body", ...loc])).toSorted());
    });

    it("lists the known events if one is unknown", async () => {
      const { body } = await mine.secret.post(SUBSCRIPTIONS, fitting({ events: ["runs.*"] }));
      expect(body.detail[0].msg).toContain("run.completed, run.failed");
    });

    it("returns the same error for another organisation's project as for a missing one", async () => {
      const theirs = await others.deploy(echo());
      const answers = await Promise.all(
        [theirs, UNKNOWN].map((id) =>
          mine.secret.post(SUBSCRIPTIONS, fitting({ filter: { project_id: [project, id] } })),
        ),
      );
      for (const answer of answers) expect(places(answer)).toEqual([["body", "filter", "project_id", 1]]);
      expect(answers[0]?.body.detail).toEqual(answers[1]?.body.detail);
    });

    it.each([
      "http://10.0.0.1/",
      "http://169.254.169.254/latest/meta-data/",
      "http://167772161/",
      "http://0x0a000001/",
      "http://0xa9fea9fe/",
      "http://012.0.0.1/",
      "http://[::ffff:127.0.0.1]/",
      "http://[::ffff:10.0.0.1]/",
      "http://[fd00::1]/",
      "http://0.0.0.0/",
      "http:\\\\10.0.0.1\\",
    ])("rejects the private address %s, also in an update", async (url) => {
      const created = await mine.secret.post(SUBSCRIPTIONS, fitting({ url }));
      expect(places(created)).toEqual([["body", "url"]]);
      expect(created.body.detail[0].msg).toContain("does not have a public address");
      const { path } = await subscribe(mine.secret, fitting());
      expect(places(await mine.secret.patch(path, { url }))).toEqual([["body", "url"]]);
      await mine.secret.delete(path);
    });

    it("reports errors of the URL and of the projects together", async () => {
      const answer = await mine.secret.post(
        SUBSCRIPTIONS,
        fitting({ url: "http://10.0.0.1/", filter: { project_id: [UNKNOWN] } }),
      );
      expect(places(answer)).toEqual([
        ["body", "url"],
        ["body", "filter", "project_id", 0],
      ]);
    });

    it("accepts a host name that cannot be resolved yet", async () => {
      await subscribe(mine.secret, { url: "https://receiver.invalid/hook" });
    });

    it("is rejected after 100 webhooks, also for simultaneous requests", async () => {
      const full = checkedClient(mine.target, (await createOrganisation(mine.target)).secretKey);
      const statuses: number[] = [];
      for (let n = 0; n < 105; n += 15) {
        const answers = await Promise.all(Array.from({ length: 15 }, () => full.post(SUBSCRIPTIONS, fitting())));
        statuses.push(...answers.map((answer) => answer.status));
      }
      expect(statuses.filter((status) => status === 201)).toHaveLength(100);
      const refused = await full.post(SUBSCRIPTIONS, fitting());
      expect(refused).toMatchObject({ status: 409, body: { code: "conflict" } });
      const { body } = await full.get(SUBSCRIPTIONS, { query: { page_size: 1 } });
      await full.delete(`${SUBSCRIPTIONS}/${body.data[0].subscription_id}`);
      expect((await full.post(SUBSCRIPTIONS, fitting())).status).toBe(201);
    });
  });

  describe("access to webhooks", () => {
    const calls = (path: string) =>
      [
        ["post", SUBSCRIPTIONS, "admin"],
        ["get", SUBSCRIPTIONS, "viewer"],
        ["get", path, "viewer"],
        ["patch", path, "admin"],
        ["post", `${path}/rotate-secret`, "admin"],
        ["get", `${path}/deliveries`, "viewer"],
        ["post", `${path}/test`, "editor"],
        ["post", `${path}/replay`, "editor"],
        ["post", `${path}/deliveries/${UNKNOWN}/retry`, "editor"],
        ["delete", path, "admin"],
      ] as const;

    /** A valid change, so that only the caller can be the reason for a refusal. */
    const bodyOf = (path: string): unknown =>
      path === SUBSCRIPTIONS
        ? fitting()
        : path.endsWith("/replay")
          ? { since: new Date(Date.now() - 1000).toISOString() }
          : /\/(test|retry|rotate-secret)$/.test(path)
            ? undefined
            : {};

    const ask = (client: TestClient, method: "get" | "post" | "patch" | "delete", path: string) =>
      method === "get" || method === "delete" ? client[method](path) : client[method](path, bodyOf(path));

    it("requires a credential, and a secret one", async () => {
      const { path } = await subscribe(mine.secret, fitting());
      for (const [method, address] of calls(path)) {
        const none = await ask(checkedClient(mine.target), method, address);
        expect([address, none.status, none.headers.get("www-authenticate")]).toEqual([
          address,
          401,
          expect.stringMatching(/^Bearer/),
        ]);
        const open = await ask(mine.public, method, address);
        expect([address, open.status, open.body.code]).toEqual([address, 403, "forbidden"]);
      }
    });

    it("lets viewers read, editors send, and only admins change", async () => {
      const { path } = await subscribe(mine.secret, fitting());
      for (const [method, address, role] of calls(path)) {
        const statuses = [(await ask(viewer, method, address)).status, (await ask(editor, method, address)).status];
        expect([address, statuses.map((status) => status === 403)]).toEqual([
          address,
          [role !== "viewer", role === "admin"],
        ]);
      }
    });

    it("shows an organisation only its own", async () => {
      const { id, path } = await subscribe(mine.secret, fitting());
      for (const [method, address] of calls(path)) {
        if (address === SUBSCRIPTIONS) continue;
        const theirs = await ask(others.secret, method, address);
        const nobodys = await ask(others.secret, method, address.replace(id, UNKNOWN));
        expect([address, theirs.status, theirs.body.detail]).toEqual([address, 404, nobodys.body.detail]);
      }
      const { body } = await others.secret.get(SUBSCRIPTIONS, { query: { page_size: 200 } });
      expect(body).toEqual({ data: [], cursor: null, has_more: false });
      expect((await mine.secret.get(path)).status).toBe(200);
    });

    it("rejects an invalid ID", async () => {
      for (const id of ["x", "1", "%00"]) {
        const answer = await mine.secret.get(`${SUBSCRIPTIONS}/${id}`);
        expect([id, answer.status, answer.body.detail[0].loc]).toEqual([id, 422, ["path", "subscription_id"]]);
      }
      expect((await mine.secret.get(`${SUBSCRIPTIONS}/${UNKNOWN}`)).status).toBe(404);
    });
  });

  it("are listed page by page, without secrets, and a cursor of another order is rejected", async () => {
    const tenant = await openTenant();
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) ids.push((await subscribe(tenant.secret, fitting())).id);
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const { status, body } = await tenant.secret.get(SUBSCRIPTIONS, { query: { page_size: 2, cursor } });
      expect(status).toBe(200);
      expect(JSON.stringify(body)).not.toContain("whsec_");
      seen.push(...body.data.map((each: { subscription_id: string }) => each.subscription_id));
      cursor = body.has_more ? body.cursor : undefined;
    } while (cursor !== undefined);
    expect(seen).toEqual(ids.toReversed());
    const first = await tenant.secret.get(SUBSCRIPTIONS, { query: { page_size: 2 } });
    const query = { cursor: first.body.cursor, order: "asc" };
    expect(await tenant.secret.get(SUBSCRIPTIONS, { query })).toMatchObject({
      status: 400,
      body: { code: "cursor_mismatch" },
    });
    expect((await tenant.secret.get(SUBSCRIPTIONS, { query: { cursor: "x" } })).body.code).toBe("invalid_cursor");
    expect(places(await tenant.secret.get(SUBSCRIPTIONS, { query: { status: "enabled" } }))).toEqual([
      ["query", "status"],
    ]);
  });

  describe("an update of a webhook", () => {
    it("changes each field separately, and null clears filter and headers", async () => {
      const { path } = await subscribe(
        mine.secret,
        fitting({ filter: { project_id: [project] }, headers: { "x-a": "1" }, description: "old" }),
      );
      const before = (await mine.secret.get(path)).body;
      const changes: Array<[Record<string, unknown>, Record<string, unknown>]> = [
        [{}, {}],
        [{ url: `${receiver.url}/new` }, {}],
        [{ events: ["*", "*"] }, { events: ["*"] }],
        [{ description: "" }, {}],
        [
          { headers: { "X-B": "2", "x-c": "3" } },
          { headers: { "x-a": "[redacted]", "x-b": "[redacted]", "x-c": "[redacted]" } },
        ],
        [{ headers: { "X-A": null, "x-c": null } }, { headers: { "x-b": "[redacted]" } }],
        [{ headers: null }, { headers: {} }],
        [{ filter: null }, {}],
        [{ filter: { project_id: [project] } }, {}],
      ];
      let expected = before;
      for (const [change, shown] of changes) {
        const { status, body } = await mine.secret.patch(path, change);
        expected = { ...expected, ...change, ...shown, updated_at: body.updated_at };
        expect([status, body]).toEqual([200, expected]);
        expect((await mine.secret.get(path)).body).toEqual(expected);
      }
    });

    it.each(
      titled([
        [
          { url: "ftp://a/", events: ["x"], filter: { project_id: "x" }, description: 1, headers: { host: "x" } },
          [["url"], ["events", 0], ["filter", "project_id"], ["description"], ["headers", "host"]],
        ],
        [
          { url: null, events: null, description: null, status: null },
          [["url"], ["events"], ["description"], ["status"]],
        ],
        [{ status: "gone" }, [["status"]]],
        [{ secret: "whsec_x" }, [["secret"]]],
        [{ filter: { project_id: [UNKNOWN] } }, [["filter", "project_id", 0]]],
      ]),
    )("rejects %s, and changes nothing", async (_, change, expected) => {
      const { path } = await subscribe(mine.secret, fitting());
      const before = await mine.secret.get(path);
      const found = new Set(places(await mine.secret.patch(path, change)).map((loc) => JSON.stringify(loc)));
      expect([...found]).toEqual(expected.map((loc) => JSON.stringify(["body", ...loc])));
      const after = await mine.secret.get(path);
      expect([after.body, after.headers.get("etag")]).toEqual([before.body, before.headers.get("etag")]);
    });

    it("rejects an outdated ETag", async () => {
      const { path, etag } = await subscribe(mine.secret, fitting());
      const change = (description: string, tag: string) =>
        mine.secret.patch(path, { description }, { headers: { "If-Match": tag } });
      const first = await change("a", etag);
      expect(first.status).toBe(200);
      expect(await change("b", etag)).toMatchObject({ status: 412, body: { code: "precondition_failed" } });
      expect((await change("c", first.headers.get("etag") ?? "")).status).toBe(200);
      expect((await change("d", "*")).status).toBe(200);
      const now = (await mine.secret.get(path)).headers.get("etag") ?? "";
      const answers = await Promise.all([1, 2, 3, 4].map((n) => change(`e${n}`, now)));
      expect(answers.map((answer) => answer.status).toSorted((a, b) => a - b)).toEqual([200, 412, 412, 412]);
    });

    it("applies its URL and headers to the next delivery", async () => {
      const { path, secret } = await subscribe(mine.secret, fitting({ headers: { "x-old": "1", "x-kept": "0" } }));
      await mine.secret.patch(path, { url: `${receiver.url}/moved`, headers: { "X-New": "2", "X-Old": null } });
      const { body } = await mine.secret.post(`${path}/test`);
      await delivered(mine.secret, path, body.delivery_id);
      const request = receiver.requests.find((each) => each.headers["webhook-id"] === body.event_id);
      expect(request).toMatchObject({ path: "/moved", headers: { "x-new": "2", "x-kept": "0" } });
      expect(request?.headers).not.toHaveProperty("x-old");
      expect(request && verifies(request, secret)).toBe(true);
    });
  });

  describe("a disabled webhook", () => {
    it("sends nothing, shows why, notifies the other webhooks, and resumes once it is enabled", async () => {
      const tenant = await openTenant();
      const { id, path } = await subscribe(tenant.secret, fitting({ url: `${receiver.url}/status?code=500` }));
      const watching = await subscribe(tenant.secret, {
        url: `${receiver.url}/watching`,
        events: ["webhook.subscription.disabled"],
      });
      const { body: waiting } = await tenant.secret.post(`${path}/test`);
      await delivered(tenant.secret, path, waiting.delivery_id, "retrying");
      const { body: disabled } = await tenant.secret.patch(path, { status: "disabled" });
      expect(disabled).toMatchObject({ status: "disabled", disabled_reason: "manual", failed_attempts: 1 });
      expect(Date.parse(disabled.disabled_at)).toBeGreaterThan(Date.now() - 60_000);
      expect(await delivered(tenant.secret, path, waiting.delivery_id, "failed")).toMatchObject({
        failure_reason: "subscription_disabled",
        next_attempt_at: null,
      });

      const since = new Date(Date.now() - 60_000).toISOString();
      const refused = await Promise.all([
        tenant.secret.post(`${path}/test`),
        tenant.secret.post(`${path}/deliveries/${waiting.delivery_id}/retry`),
        tenant.secret.post(`${path}/replay`, { since }),
      ]);
      for (const answer of refused)
        expect(answer).toMatchObject({ status: 409, body: { code: "subscription_disabled" } });

      // Disabling it again changes nothing and sends no second event.
      expect((await tenant.secret.patch(path, { status: "disabled" })).body).toEqual(disabled);
      await expect.poll(() => receiver.hits("/watching")).toBe(1);
      const told = receiver.requests.find((each) => each.path === "/watching");
      expect(JSON.parse(told?.body ?? "")).toMatchObject({
        type: "webhook.subscription.disabled",
        org_id: tenant.org_id,
        data: { subscription_id: id, reason: "manual", failing_since: disabled.failing_since },
      });
      expect(told && verifies(told, watching.secret)).toBe(true);

      const { body: enabled } = await tenant.secret.patch(path, { status: "enabled", url: `${receiver.url}/again` });
      expect(enabled).toMatchObject({
        status: "enabled",
        disabled_reason: null,
        disabled_at: null,
        failed_attempts: 0,
      });
      const { body: test } = await tenant.secret.post(`${path}/test`);
      await delivered(tenant.secret, path, test.delivery_id);
    });

    it("matches failing=true, like one whose attempts all fail, unless a person disabled it", async () => {
      const own = await openTenant();
      const failing: string[] = [];
      const make = async (state: string): Promise<string> => {
        const { id } = await subscribe(own.secret, fitting());
        await own.withDatabase((database) =>
          database.system((db) =>
            db.query(`update webhook_subscriptions set ${state} where subscription_id = $1`, [id]),
          ),
        );
        return id;
      };
      const disabled = (reason: string): string =>
        `status = 'disabled', disabled_at = now(), failing_since = now(), disabled_reason = '${reason}'`;
      failing.push(await make("failing_since = now()"), await make(disabled("failing")), await make(disabled("gone")));
      const sound = [await make("failing_since = null"), await make(disabled("manual"))];
      const list = async (query: Record<string, string | number>) => {
        const { status, body } = await own.secret.get(SUBSCRIPTIONS, { query });
        expect(status).toBe(200);
        return body;
      };
      const ids = async (query: Record<string, string | number>): Promise<string[]> =>
        (await list(query)).data.map((each: { subscription_id: string }) => each.subscription_id);
      expect(await ids({ failing: "true", order: "asc" })).toEqual(failing);
      expect(await ids({ failing: "false", order: "asc" })).toEqual(sound);
      expect(await ids({ order: "asc" })).toEqual([...failing, ...sound]);
      const first = await list({ failing: "true", order: "asc", page_size: 2 });
      expect(await ids({ failing: "true", order: "asc", page_size: 2, cursor: first.cursor })).toEqual([failing[2]]);
      const other = await own.secret.get(SUBSCRIPTIONS, {
        query: { order: "asc", page_size: 2, cursor: first.cursor },
      });
      expect([other.status, other.body.code]).toEqual([400, "cursor_mismatch"]);
      expect((await own.secret.get(SUBSCRIPTIONS, { query: { failing: "maybe" } })).status).toBe(422);
    });

    it("results from a receiver that returns 410", async () => {
      const { path } = await subscribe(mine.secret, fitting({ url: `${receiver.url}/status?code=410` }));
      const { body } = await mine.secret.post(`${path}/test`);
      expect(await delivered(mine.secret, path, body.delivery_id, "failed")).toMatchObject({ failure_reason: "gone" });
      await expect
        .poll(async () => (await mine.secret.get(path)).body)
        .toMatchObject({ status: "disabled", disabled_reason: "gone" });
    });
  });

  it("are not found after they are deleted, and neither are their deliveries", async () => {
    const { id, path } = await subscribe(mine.secret, fitting({ url: `${receiver.url}/status?code=500` }));
    const { body } = await mine.secret.post(`${path}/test`);
    await delivered(mine.secret, path, body.delivery_id, "retrying");
    expect((await mine.secret.delete(path)).status).toBe(204);
    const answers = await Promise.all([
      mine.secret.get(path),
      mine.secret.patch(path, { description: "x" }),
      mine.secret.delete(path),
      mine.secret.post(`${path}/test`),
      mine.secret.post(`${path}/rotate-secret`),
      mine.secret.get(`${path}/deliveries`),
      mine.secret.get(`${path}/deliveries/${body.delivery_id}`),
      mine.secret.post(`${path}/deliveries/${body.delivery_id}/retry`),
      mine.secret.post(`${path}/replay`, { since: new Date(Date.now() - 1000).toISOString() }),
    ]);
    expect(answers.map((answer) => answer.status)).toEqual(answers.map(() => 404));
    const listed = await mine.secret.get(SUBSCRIPTIONS, { query: { page_size: 200 } });
    expect(JSON.stringify(listed.body)).not.toContain(id);
    const rows = await mine.withDatabase((database) =>
      database.system((db) =>
        db.query("select status, failure_reason from webhook_deliveries where subscription_id = $1::uuid", [id]),
      ),
    );
    expect(rows).toEqual([{ status: "failed", failure_reason: "subscription_deleted" }]);
  });

  describe("the rotation of a webhook secret", () => {
    it("signs with both secrets until the grace period ends", async () => {
      const { path, secret: old } = await subscribe(mine.secret, fitting({ url: `${receiver.url}/rotated` }));
      const { status, body } = await mine.secret.post(`${path}/rotate-secret`);
      expect(status).toBe(200);
      expect(body.secret).toMatch(SECRET);
      expect(body.secret).not.toBe(old);
      const grace = Date.parse(body.previous_secret_expires_at) - Date.now();
      expect(grace / 3_600_000).toBeCloseTo(24, 1);
      const shown = (await mine.secret.get(path)).body;
      expect(shown.previous_secret_expires_at).toBe(body.previous_secret_expires_at);
      expect(shown).not.toHaveProperty("secret");

      const send = async () => {
        const { body: delivery } = await mine.secret.post(`${path}/test`);
        await delivered(mine.secret, path, delivery.delivery_id);
        const request = receiver.requests.find((each) => each.headers["webhook-id"] === delivery.event_id);
        if (!request) throw new Error("nothing has arrived");
        return request;
      };
      const both = await send();
      expect(both.headers["webhook-signature"]?.split(" ")).toHaveLength(2);
      expect([verifies(both, body.secret), verifies(both, old)]).toEqual([true, true]);

      await mine.withDatabase((database) =>
        database.system((db) =>
          db.query("update webhook_subscriptions set previous_secret_until = now() where subscription_id = $1::uuid", [
            shown.subscription_id,
          ]),
        ),
      );
      const one = await send();
      expect([verifies(one, body.secret), verifies(one, old)]).toEqual([true, false]);
      expect((await mine.secret.get(path)).body.previous_secret_expires_at).toBeNull();
    });

    it("happens once per Idempotency-Key, and its stored response is encrypted", async () => {
      const { id, path } = await subscribe(mine.secret, fitting());
      const headers = { "Idempotency-Key": "rotate-once" };
      const first = await mine.secret.post(`${path}/rotate-secret`, undefined, { headers });
      const again = await mine.secret.post(`${path}/rotate-secret`, undefined, { headers });
      expect([again.status, again.body]).toEqual([200, first.body]);
      const kept = () =>
        mine.withDatabase((database) =>
          database.system((db) =>
            db.query("select t::text as row from idempotency_keys t where org_id = $1::uuid and key = 'rotate-once'", [
              mine.org_id,
            ]),
          ),
        );
      expect(JSON.stringify(await kept())).not.toContain(first.body.secret.slice(6, 30));
      // As after a crash between rotation and response: the repeated request finds the rotation done.
      await mine.withDatabase((database) =>
        database.system((db) =>
          db.query(
            "update idempotency_keys set response = null, locked_until = now() where org_id = $1::uuid and key = 'rotate-once'",
            [mine.org_id],
          ),
        ),
      );
      const repeated = await mine.secret.post(`${path}/rotate-secret`, undefined, { headers });
      expect([repeated.status, repeated.body]).toEqual([200, first.body]);
      expect(first.body.subscription_id).toBe(id);
    });

    it("returns no previous_secret_expires_at when the grace period is 0", async () => {
      const api = await startInProcess({ env: { MILLRACE_WEBHOOK_SECRET_GRACE_MS: "0" } });
      const client = checkedClient(api, (await createOrganisation(api)).secretKey);
      const { path } = await subscribe(client, { url: "https://receiver.invalid/" });
      const { body } = await client.post(`${path}/rotate-secret`);
      expect(body.previous_secret_expires_at).toBeNull();
      await api.close();
    });

    it("accepts no query parameters", async () => {
      const { path } = await subscribe(mine.secret, fitting());
      expect(places(await mine.secret.post(`${path}/rotate-secret?force=1`))).toEqual([["query", "force"]]);
    });
  });
});
