import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { purgeRateLimits } from "../../../src/stores/http/rate-limits.ts";
import { createOrganisation } from "../../support/service.ts";
import { checkedClient } from "./conformance.ts";
import { startInProcess, type InProcessApi } from "../in-process.ts";

describe("the rate limit", () => {
  let first: InProcessApi;
  let second: InProcessApi;
  beforeAll(async () => {
    const env = { MILLRACE_RATE_LIMIT: "10" };
    first = await startInProcess({ env });
    second = await startInProcess({ env, databaseUrl: first.databaseUrl });
  });
  afterAll(async () => {
    await second.close();
    await first.close();
  });

  it("is shared by all API processes and separate for each credential", async () => {
    const org = await createOrganisation(first);
    const answers = await Promise.all(
      Array.from({ length: 16 }, (_, n) =>
        checkedClient(n % 2 === 0 ? first : second, org.secretKey).get("/v2/limits"),
      ),
    );
    expect(answers.filter((answer) => answer.status === 200)).toHaveLength(10);
    const refused = answers.filter((answer) => answer.status === 429);
    expect(refused).toHaveLength(6);
    expect(refused[0]?.body.code).toBe("rate_limited");
    expect(Number(refused[0]?.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(refused[0]?.headers.get("ratelimit")).toMatch(/^"default";r=0;t=\d+$/);
    expect((await checkedClient(first, (await createOrganisation(first)).secretKey).get("/v2/limits")).status).toBe(
      200,
    );
  });

  it("applies to one key, not to the organisation: other keys keep their own allowance", async () => {
    const org = await createOrganisation(first);
    const spent = checkedClient(first, org.secretKey);
    for (let n = 0; n < 10; n++) expect((await spent.get("/v2/limits")).status).toBe(200);
    expect((await spent.get("/v2/limits")).status).toBe(429);
    const flow = `/inference/v0/run/${org.org_id}/0197f0a0-0000-7000-8000-000000000000`;
    const other = await checkedClient(first, org.publicKey).post(flow, {});
    expect([other.status, other.headers.get("ratelimit")?.split(";t=")[0]]).toEqual([404, '"default";r=9']);
    expect((await spent.get("/v2/limits")).status).toBe(429);
  });

  it("reports the remaining quota", async () => {
    const mine = checkedClient(first, (await createOrganisation(first)).secretKey);
    const { headers } = await mine.get("/v2/limits");
    expect(headers.get("ratelimit-policy")).toBe('"default";q=10;w=60');
    expect(headers.get("ratelimit")).toMatch(/^"default";r=9;t=(60|59)$/);
    expect((await mine.get("/v2/projects")).headers.get("ratelimit")).toMatch(/;r=8;/);
  });

  it("does not count requests without a credential, nor health checks", async () => {
    const open = checkedClient(first);
    for (let n = 0; n < 12; n++) expect((await open.get("/healthz")).status).toBe(200);
    expect((await open.get("/v2/limits")).status).toBe(401);
  });

  it("purges expired counts", async () => {
    await first.db.system((db) =>
      db.query("insert into rate_limits values ('old', 1, 1000), ('new', 1, 99999999999999)"),
    );
    expect(await first.db.system((db) => purgeRateLimits(db, 100))).toBe(1);
  });

  it("is off unless configured", async () => {
    const open = await startInProcess({ databaseUrl: first.databaseUrl });
    const { headers } = await checkedClient(open, (await createOrganisation(first)).secretKey).get("/v2/limits");
    expect([headers.get("ratelimit"), headers.get("ratelimit-policy")]).toEqual([null, null]);
    await open.close();
  });
});
