import { createServer, type AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Answer } from "../../support/client.ts";
import { hasOpenssl, makeCertificate } from "../../support/certificate.ts";
import { administer, cloneDatabase } from "../../support/database.ts";
import { startTlsPostgres } from "../../support/postgres-tls.ts";
import { openTenant, type ApiTenant } from "../tenant.ts";

let mine: ApiTenant;
let database: Awaited<ReturnType<typeof cloneDatabase>>;
let reader: string;
let writer: string;

beforeAll(async () => {
  [mine, database] = await Promise.all([openTenant(), cloneDatabase()]);
  await administer(database.url, "create table orders (id int primary key, note text)");
  await administer(database.url, "insert into orders values (1, 'one'), (2, 'two'), (3, 'three')");
  reader = await connect({});
  writer = await connect({ allow_writes: true });
});
afterAll(() => database?.drop());

const credentialOf = (more: Record<string, unknown>) => {
  const { hostname, port, username, password, pathname } = new URL(database.url);
  const own = { host: hostname, port: Number(port), database: pathname.slice(1), username, tls: "off" };
  return { ...own, password: decodeURIComponent(password) || "none", ...more };
};

async function create(more: Record<string, unknown>): Promise<Answer["body"]> {
  const body = { name: "db", provider_id: "postgres", credential: credentialOf(more) };
  const created = await mine.secret.post("/v2/connections", body);
  expect(created.status, JSON.stringify(created.body)).toBe(201);
  return created.body;
}

const connect = async (more: Record<string, unknown>): Promise<string> => (await create(more)).connection_id;

async function run(action: string, connection_id: string, inputs: unknown, more = {}): Promise<Answer["body"]> {
  const path = `/v2/providers/postgres/actions/${action}/run`;
  const { status, body } = await mine.secret.post(path, { inputs, connection_id, ...more });
  expect(status, JSON.stringify(body)).toBe(200);
  return body;
}

const query = (sql: string, params?: unknown[], more = {}): Promise<Answer["body"]> =>
  run("query", reader, { sql, ...(params ? { params } : {}), ...more });

describe("postgres", () => {
  it("returns rows as JSON, with bound parameters", async () => {
    const { outputs, rendered_request } = await query(
      `select id, note, $2::int8 as big, 2.50::numeric as price, true as yes, null as nothing, now() > $3::timestamptz as later,
        $4::jsonb as doc, array[1, null, 3] as list, $5::text[] as texts, '\\x00ff'::bytea as bytes,
        timestamptz '2026-01-02 03:04:05+02' as at, date '2026-01-02' as day
      from orders where note = $1`,
      ["two", 9_007_199_254_740_993n.toString(), "2020-01-01", { a: [1] }, ['a"b', "c,d", null]],
    );
    expect(outputs.rows).toEqual([
      {
        id: 2,
        note: "two",
        big: "9007199254740993",
        price: "2.50",
        yes: true,
        nothing: null,
        later: true,
        doc: { a: [1] },
        list: [1, null, 3],
        texts: ['a"b', "c,d", null],
        bytes: "AP8=",
        at: "2026-01-02T01:04:05.000Z",
        day: "2026-01-02",
      },
    ]);
    expect(outputs).toMatchObject({ row_count: 1, truncated: false, columns: expect.arrayContaining(["id", "day"]) });
    expect(rendered_request).toMatchObject({ transaction: "read only", params: expect.arrayContaining(["two"]) });
  });

  it("reports truncated rows, and rejects results that are too large", async () => {
    const { outputs } = await query("select id from orders order by id", [], { max_rows: 2 });
    expect(outputs).toEqual({ columns: ["id"], rows: [{ id: 1 }, { id: 2 }], row_count: 2, truncated: true });
    const exact = await query("select id from orders", [], { max_rows: 3 });
    expect(exact.outputs).toMatchObject({ row_count: 3, truncated: false });
    const long = await query("select repeat('x', 40000000) as x");
    expect(long.error).toMatchObject({ code: "value_too_large", retryable: false });
    expect((await query("select 1 as a, 2 as a")).error.message).toContain("AS");
  });

  it.each([
    "delete from orders",
    "select 1; delete from orders",
    "commit; delete from orders",
    "set transaction read write",
    "with gone as (delete from orders returning *) select * from gone",
    "do $$ begin set transaction_read_only = off; delete from orders; end $$",
    "select set_config('transaction_read_only', 'off', false)",
    "copy orders from stdin",
    "copy orders to stdout",
    "",
    "-- nothing",
    "this is no SQL",
  ])("fails an unsupported query, and changes nothing: %s", async (sql) => {
    const path = "/v2/providers/postgres/actions/query/run";
    const { body } = await mine.secret.post(path, { inputs: { sql }, connection_id: reader });
    expect(body.successful ?? false, JSON.stringify(body)).toBe(false);
    // The failed statement leaves nothing behind, and the next one works.
    expect((await query("select count(*) as n from orders")).outputs.rows).toEqual([{ n: 3 }]);
  });

  it("stops at the statement timeout and at the action timeout", async () => {
    const slow = await query("select pg_sleep(30)", [], { statement_timeout_seconds: 1 });
    expect(slow.error).toMatchObject({ code: "action_refused", message: expect.stringContaining("57014") });
    const cut = await run("query", reader, { sql: "select pg_sleep(30)" }, { timeout_seconds: 1 });
    expect(cut.error.code).toBe("action_timeout");
  });

  it("writes if its connection allows it: everything or nothing", async () => {
    const insert = { sql: "insert into orders values ($1, $2) returning id", params: [10, "new"] };
    expect((await run("execute", reader, insert)).error).toMatchObject({ code: "invalid_action_inputs" });
    const dry = await run("execute", writer, insert, { dry_run: true });
    expect(dry).toMatchObject({ outputs: null, rendered_request: { transaction: "read write", params: [10, "new"] } });
    const { outputs } = await run("execute", writer, insert);
    expect(outputs).toMatchObject({ rows: [{ id: 10 }], row_count: 1 });
    const again = await run("execute", writer, insert);
    expect(again.error).toMatchObject({ code: "action_refused", message: expect.stringContaining("23505") });
    // The statement is cancelled before it completes, so its outcome is known: nothing has happened.
    const slow = { sql: "insert into orders select 11, 'slow' from pg_sleep(30)" };
    expect((await run("execute", writer, slow, { timeout_seconds: 1 })).error.code).toBe("action_timeout");
    const many = { sql: "update orders set note = 'x' returning id", max_rows: 1 };
    expect((await run("execute", writer, many)).error.code).toBe("value_too_large");
    const left = await query("select id, note from orders where id >= 10 or note = 'x'");
    expect(left.outputs.rows).toEqual([{ id: 10, note: "new" }]);
  });

  it("checks the credential, and reveals no hosts or passwords", async () => {
    expect(await create({})).toMatchObject({ status: "active", status_reason: null });
    const gone = await create({ database: "not_there" });
    expect(gone).toMatchObject({ status: "error", status_reason: expect.stringContaining("3D000") });
    const { error } = await run("query", gone.connection_id, { sql: "select 1" });
    expect(error).toMatchObject({ code: "connection_rejected" });
    const inner = await create({ host: "169.254.169.254" });
    expect(inner).toMatchObject({
      status: "unverified",
      status_reason: expect.stringContaining("does not have a public"),
    });
    const socket = await create({ host: "/tmp" });
    expect((await run("query", socket.connection_id, { sql: "select 1" })).successful).toBe(false);
  });

  it("ends in time if a server does not respond", async () => {
    const mute = createServer((socket) => void socket.on("error", () => undefined).resume());
    await new Promise<void>((resolve) => mute.listen(0, "127.0.0.1", resolve));
    const { port } = mute.address() as AddressInfo;
    expect(await create({ host: "127.0.0.1", port })).toMatchObject({ status: "unverified" });
    mute.close();
  });

  it.skipIf(!hasOpenssl)("uses TLS, and verifies the certificate", async () => {
    const certificate = makeCertificate("localhost");
    const { hostname, port } = new URL(database.url);
    const server = await startTlsPostgres({ host: hostname, port: Number(port) }, certificate);
    const own = { host: "localhost", port: server.port };
    const asked = async (more: Record<string, unknown>): Promise<Answer["body"]> => {
      const { connection_id, status } = await create({ ...own, ...more });
      return { status, ...(await run("query", connection_id, { sql: "select 1 as one" })) };
    };
    expect(await asked({ tls: "verify", ca: certificate.cert })).toMatchObject({
      status: "active",
      outputs: { rows: [{ one: 1 }] },
    });
    expect(await asked({ tls: "require" })).toMatchObject({ status: "active", successful: true });
    expect(await asked({ tls: "verify" })).toMatchObject({ status: "unverified", successful: false });
    // A server that does not support TLS gets no plaintext connection.
    const plain = await create({ tls: "require" });
    expect(plain).toMatchObject({ status: "unverified", status_reason: expect.stringContaining("TLS") });
    server.close();
  });
});
