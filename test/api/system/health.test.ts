import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { assertSchema } from "../../../src/services/system/check-schema.ts";
import { openDatabase } from "../../../src/stores/db.ts";
import { MIGRATIONS } from "../../support/own-postgres.ts";
import { createOrganisation } from "../../support/service.ts";
import { checkedClient } from "../http/conformance.ts";
import { startInProcess, type InProcessApi } from "../in-process.ts";

const TOKEN = "a-token-of-some-length";

describe("health", () => {
  let api: InProcessApi;
  beforeAll(async () => {
    api = await startInProcess();
  });
  afterAll(() => api.close());

  it("can be read without a credential", async () => {
    const open = checkedClient(api);
    expect(await open.get("/healthz")).toMatchObject({ status: 200, body: { status: "ok" } });
    expect(await open.get("/readyz")).toMatchObject({
      status: 200,
      body: { status: "ready", postgres: "ok", schema: "ok", temporal: "ok" },
    });
  });

  it("ignores query parameters that probes add", async () => {
    const open = checkedClient(api);
    for (const path of ["/healthz", "/readyz"])
      expect((await open.get(path, { query: { "asked-by": "x", format: "prometheus" } })).status).toBe(200);
  });

  it("redirects a browser to the reference", async () => {
    const { status, headers } = await checkedClient(api).get("/", { headers: { accept: "text/html" } });
    expect([status, headers.get("location")]).toEqual([302, "/docs"]);
  });

  it("names the part that does not respond", async () => {
    const away = openDatabase({
      url: "postgres://nobody@127.0.0.1:9/nowhere",
      poolSize: 2,
      applicationName: "test",
      onError: () => undefined,
    });
    const broken = await startInProcess({ databaseUrl: api.databaseUrl, readiness: { postgres: () => away.ping() } });
    expect(await checkedClient(broken).get("/readyz")).toMatchObject({
      status: 503,
      body: { status: "unavailable", postgres: "unavailable", temporal: "ok" },
    });
    await broken.close();
    await away.close();
  });

  it("stays ready while a newer release has migrated the database, and not if migrations are missing", async () => {
    const schema = (): Promise<void> => assertSchema(api.db, MIGRATIONS);
    const checking = await startInProcess({ databaseUrl: api.databaseUrl, readiness: { schema } });
    const stateAfter = async (statement: string): Promise<unknown> => {
      await api.db.system((db) => db.query(statement));
      return (await checkedClient(checking).get("/readyz")).body;
    };
    expect(await stateAfter("insert into migrations (name) values ('9999_later.sql')")).toMatchObject({
      status: "ready",
      schema: "ok",
    });
    const removed = "delete from migrations where name = (select min(name) from migrations) or name = '9999_later.sql'";
    expect(await stateAfter(removed)).toMatchObject({
      status: "unavailable",
      schema: "unavailable",
      advice: "Run `millrace migrate`.",
    });
    await checking.close();
  });

  it("does not wait for a part that hangs", async () => {
    const hanging = await startInProcess({
      databaseUrl: api.databaseUrl,
      readiness: { temporal: () => new Promise(() => undefined) },
    });
    const start = performance.now();
    expect(await checkedClient(hanging).get("/readyz")).toMatchObject({
      status: 200,
      body: { status: "degraded", postgres: "ok", temporal: "unavailable" },
    });
    expect(performance.now() - start).toBeLessThan(15_000);
    await hanging.close();
  });

  it("metrics-leak: serves metrics on the public port only with the token", async () => {
    expect((await checkedClient(api).get("/metrics")).status).toBe(404);
    const { secretKey } = await createOrganisation(api);
    expect((await checkedClient(api, secretKey).get("/metrics")).status).toBe(404);
    const tokened = await startInProcess({ databaseUrl: api.databaseUrl, env: { MILLRACE_METRICS_TOKEN: TOKEN } });
    expect((await checkedClient(tokened).get("/metrics")).status).toBe(401);
    for (const credential of [secretKey, `${TOKEN}x`, TOKEN.slice(1)])
      expect((await checkedClient(tokened, credential).get("/metrics")).status).toBe(401);
    expect((await checkedClient(tokened, TOKEN).get("/metrics", { query: { x: 1 } })).status).toBe(200);
    await tokened.close();
  });

  it("has metrics by operation, never by URL", async () => {
    const tokened = await startInProcess({ databaseUrl: api.databaseUrl, env: { MILLRACE_METRICS_TOKEN: TOKEN } });
    const mine = checkedClient(tokened, (await createOrganisation(api)).secretKey);
    await mine.get("/v2/projects/0197a1c4-7c5e-7d1f-9a3b-2f4e6a8c0b1d");
    await mine.get("/nothing/here");
    const { status, body } = await checkedClient(tokened, TOKEN).get("/metrics");
    await tokened.close();
    expect(status).toBe(200);
    expect(body).toMatch(
      /millrace_http_request_duration_seconds_count\{service="api",operation="getProject",status="404"\} 1/,
    );
    expect(body).toContain('operation="unmatched"');
    expect(body).not.toContain("0197a1c4");
    expect(body).not.toContain("/nothing");
  });
});
