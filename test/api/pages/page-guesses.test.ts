import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { client } from "../../support/client.ts";
import { createOrganisation } from "../../support/service.ts";
import { echoFlow } from "../echo-flow.ts";
import { startInProcess, type InProcessApi } from "../in-process.ts";

const PASSWORD = "tulip-and-harbour";
let api: InProcessApi;
let door: string;
let page_id: string;
beforeAll(async () => {
  api = await startInProcess({ env: { MILLRACE_TRUSTED_PROXIES: "127.0.0.1" } });
  const { secretKey } = await createOrganisation(api);
  const admin = client(api, secretKey);
  const { body: project } = await admin.post("/v2/projects", { name: "page" });
  await admin.post(`/v2/projects/${project.project_id}/versions`, { flow: echoFlow(), publish: true });
  const { status, body } = await admin.post(`/v2/projects/${project.project_id}/pages`, {
    kind: "form",
    password: PASSWORD,
  });
  expect(status, JSON.stringify(body)).toBe(201);
  page_id = body.page_id;
  door = new URL(body.url).pathname;
});
afterAll(() => api.close());

const enter = async (from: string, password: string): Promise<number> =>
  (await client(api).post(`${door}/visitors`, { password }, { headers: { "x-forwarded-for": from } })).status;

/** Uses up a count of the page, because each real guess takes 200 ms. */
const useUp = (limiter: string, points: number) =>
  api.db.system((db) =>
    db.query(
      `insert into rate_limits values ($1::text || ':' || $2::text, $3::int, (extract(epoch from now()) * 1000 + 60000)::bigint)
        on conflict (key) do update set points = excluded.points`,
      [limiter, page_id, points],
    ),
  );

describe("public-page: guesses at a page's password", () => {
  it("lock out their own network, and soon their region, but nobody who knows the password elsewhere", async () => {
    const guesser = "198.51.100.1";
    const own = await Promise.all(Array.from({ length: 6 }, () => enter(guesser, "wrong-password")));
    expect(own.toSorted()).toEqual([401, 401, 401, 401, 401, 429]);
    expect(await enter(guesser, PASSWORD)).toBe(429);
    // As if many networks had guessed.
    await useUp("page-passwords", 300);
    for (const others of ["198.51.100", "2001:db8:1"]) {
      const at = (end: number): string => (others.includes(":") ? `${others}:${end}::1` : `${others}.${end}`);
      for (const end of [10, 11, 12]) expect(await enter(at(end), "wrong-password"), at(end)).toBe(401);
      expect(await enter(at(13), PASSWORD)).toBe(429);
    }
    for (const elsewhere of ["198.51.101.1", "2001:db8:2::1"])
      for (let round = 0; round < 4; round += 1) expect(await enter(elsewhere, PASSWORD)).toBe(201);
  });

  it("are bounded in all, from however many networks", async () => {
    await useUp("page-passwords", 300);
    await useUp("page-beyond", 5000);
    expect(await enter("203.0.113.1", "wrong-password")).toBe(429);
  });
});
