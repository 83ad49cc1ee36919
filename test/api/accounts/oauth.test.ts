import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createOrganisation, type TestOrganisation } from "../../support/service.ts";
import { client } from "../../support/client.ts";
import { askToken, newUser, signedInUser } from "./accounts.ts";
import { checkedClient, expectDocumented } from "../http/conformance.ts";
import { startInProcess, type InProcessApi } from "../in-process.ts";

let api: InProcessApi;
let org: TestOrganisation;
let admin: Awaited<ReturnType<typeof newUser>>;
beforeAll(async () => {
  api = await startInProcess();
  org = await createOrganisation(api);
  admin = await newUser(api.db, { org_id: org.org_id, email: "admin@example.test", role: "admin" });
});
afterAll(() => api.close());

const ask = async (members: Record<string, string>) => {
  const answer = await askToken(api, members);
  expectDocumented("POST", "/token", answer);
  return answer;
};
const works = async (token: string): Promise<boolean> =>
  (await checkedClient(api, token).get("/v2/limits")).status === 200;

describe("the password grant", () => {
  it("returns a working access token and a refresh token", async () => {
    const { email, password } = admin;
    const answer = await ask({
      grant_type: "password",
      username: email.toUpperCase(),
      password,
      scope: "everything",
      client_id: "x",
    });
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      access_token: expect.stringMatching(/^mr_at_/),
      token_type: "bearer",
      expires_in: 3600,
      refresh_token: expect.stringMatching(/^mr_rt_/),
      scope: "",
    });
    expect(answer.headers.get("cache-control")).toBe("no-store");
    expect(await works(answer.body.access_token)).toBe(true);
  });

  it("does not accept a refresh token as a credential", async () => {
    const { refresh } = await signedInUser(api, org.org_id, "viewer");
    expect(await works(refresh)).toBe(false);
  });

  it("returns the same response for a wrong password and an unknown address", async () => {
    const wrong = await ask({ grant_type: "password", username: admin.email, password: "wrong" });
    const unknown = await ask({ grant_type: "password", username: "nobody@example.test", password: "wrong" });
    const odd = await ask({ grant_type: "password", username: "a\u0000b", password: "wrong" });
    for (const answer of [wrong, unknown, odd]) {
      expect([answer.status, answer.body]).toEqual([
        400,
        { error: "invalid_grant", error_description: expect.any(String) },
      ]);
    }
    expect(wrong.body).toEqual(unknown.body);
  });

  it.each([
    [{}, "invalid_request"],
    [{ grant_type: "password" }, "invalid_request"],
    [{ grant_type: "password", username: "a" }, "invalid_request"],
    [{ grant_type: "password", username: "", password: "" }, "invalid_request"],
    [{ grant_type: "refresh_token" }, "invalid_request"],
    [{ grant_type: "client_credentials" }, "unsupported_grant_type"],
    [{ grant_type: "refresh_token", refresh_token: "nonsense" }, "invalid_grant"],
  ])("responds to %j with %s", async (members, error) => {
    expect(await ask(members as Record<string, string>)).toMatchObject({ status: 400, body: { error } });
  });

  it("rejects a duplicate parameter, another content type and a long body", async () => {
    const form = { headers: { "content-type": "application/x-www-form-urlencoded" } };
    const open = checkedClient(api);
    expect((await open.post("/token", "grant_type=password&grant_type=password", form)).body.error).toBe(
      "invalid_request",
    );
    expect((await open.post("/token", { grant_type: "password" })).status).toBe(415);
    expect((await open.post("/token", `username=${"x".repeat(70_000)}`, form)).status).toBe(413);
  });

  it("refuses a password that is not UTF-8, instead of reading another one", async () => {
    const form = { headers: { "content-type": "application/x-www-form-urlencoded" } };
    const asked = (password: string) =>
      checkedClient(api).post(
        "/token",
        `grant_type=password&username=nobody%40example.test&password=${password}`,
        form,
      );
    expect((await asked("caf%E9")).body).toEqual({
      error: "invalid_request",
      error_description: "The form is not UTF-8.",
    });
    expect((await asked("caf%C3%A9+100%")).body.error).toBe("invalid_grant");
  });

  it("limits the number of parameters", async () => {
    const form = { headers: { "content-type": "application/x-www-form-urlencoded" } };
    const wrong = ["grant_type=password", "username=nobody%40example.test", "password=wrong"];
    const asked = (more: number) =>
      checkedClient(api).post(
        "/token",
        [...wrong, ...Array.from({ length: more }, (_, n) => `p${n}=`)].join("&"),
        form,
      );
    expect((await asked(47)).body.error).toBe("invalid_grant");
    expect((await asked(48)).body.error).toBe("invalid_request");
  });

  it("prototype: treats names as plain names, without prototypes or bracket syntax", async () => {
    const form = { headers: { "content-type": "application/x-www-form-urlencoded" } };
    const odd = "__proto__=x&constructor=y&hasOwnProperty=z&__proto__[grant_type]=password&a.b=1&grant_type[]=x&[]=1";
    const nothing = await checkedClient(api).post("/token", odd, form);
    expect([nothing.status, nothing.body]).toEqual([
      400,
      { error: "invalid_request", error_description: "grant_type is required." },
    ]);
    expect(({} as { grant_type?: unknown }).grant_type).toBeUndefined();
    const listed = await checkedClient(api).post("/token", "grant_type=password&grant_type=password", form);
    expect(listed.body.error_description).toContain("more than once");
  });

  it("throttles guesses without revealing whether a guess was right", async () => {
    const user = await signedInUser(api, org.org_id, "viewer");
    const guesses = await Promise.all(
      Array.from({ length: 14 }, (_, n) =>
        ask({ grant_type: "password", username: user.email, password: `guess ${n}` }),
      ),
    );
    expect(guesses.filter((answer) => answer.status === 400)).toHaveLength(10);
    const refused = guesses.filter((answer) => answer.status === 429);
    expect(refused).toHaveLength(4);
    expect(Number(refused[0]?.headers.get("retry-after"))).toBeGreaterThan(0);
    expect((await ask({ grant_type: "password", username: user.email, password: user.password })).status).toBe(429);
    // Other users at the same address can still sign in, and existing sessions of this user stay valid.
    expect((await ask({ grant_type: "password", username: admin.email, password: admin.password })).status).toBe(200);
    expect(await works(user.access)).toBe(true);
  });

  it("counts only wrong passwords", async () => {
    const { email, password } = await signedInUser(api, org.org_id, "viewer");
    const counted = () =>
      api.db.system((db) => db.query("select key, points from rate_limits where points > 0 order by key"));
    // The first sign-in makes the client address known.
    expect((await ask({ grant_type: "password", username: email, password })).status).toBe(200);
    const before = await counted();
    expect((await ask({ grant_type: "password", username: email, password })).status).toBe(200);
    expect(await counted()).toEqual(before);
  });
});

describe("the refresh grant", () => {
  it("returns a new token pair and invalidates the old refresh token", async () => {
    const { refresh } = await signedInUser(api, org.org_id, "editor");
    const renewed = await ask({ grant_type: "refresh_token", refresh_token: refresh });
    expect(renewed.status).toBe(200);
    expect(renewed.body.refresh_token).not.toBe(refresh);
    expect(await works(renewed.body.access_token)).toBe(true);
    expect(await ask({ grant_type: "refresh_token", refresh_token: refresh })).toMatchObject({
      status: 400,
      body: { error: "invalid_grant" },
    });
    // An immediate repetition may come from the client itself, so the session stays valid.
    expect(await works(renewed.body.access_token)).toBe(true);
  });

  it("accepts only one of many simultaneous uses", async () => {
    const { refresh } = await signedInUser(api, org.org_id, "editor");
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => ask({ grant_type: "refresh_token", refresh_token: refresh })),
    );
    expect(answers.filter((answer) => answer.status === 200)).toHaveLength(1);
  });

  it("revokes every session when a used token is sent again, because it may be stolen", async () => {
    const { user_id, refresh } = await signedInUser(api, org.org_id, "editor");
    const renewed = await ask({ grant_type: "refresh_token", refresh_token: refresh });
    await api.db.system((db) =>
      db.query(
        "update oauth_tokens set revoked_at = now() - interval '1 minute' where user_id = $1 and revoked_at is not null",
        [user_id],
      ),
    );
    expect((await ask({ grant_type: "refresh_token", refresh_token: refresh })).status).toBe(400);
    expect(await works(renewed.body.access_token)).toBe(false);
    expect((await ask({ grant_type: "refresh_token", refresh_token: renewed.body.refresh_token })).status).toBe(400);
  });

  it("rejects an expired token", async () => {
    const { user_id, access, refresh } = await signedInUser(api, org.org_id, "editor");
    await api.db.system((db) =>
      db.query("update oauth_tokens set expires_at = now() - interval '1 second' where user_id = $1", [user_id]),
    );
    expect((await ask({ grant_type: "refresh_token", refresh_token: refresh })).status).toBe(400);
    expect(await works(access)).toBe(false);
  });
});

it("stores only hashes of tokens", async () => {
  const { access, refresh } = await signedInUser(api, org.org_id, "viewer");
  const rows = await api.db.system((db) => db.query("select t::text from oauth_tokens t"));
  for (const token of [access, refresh]) expect(JSON.stringify(rows)).not.toContain(token.slice(10));
  expect(api.logs()).not.toContain(access);
});

it("returns 405 for a GET", async () => {
  expect((await client(api).get("/token")).status).toBe(405);
});
