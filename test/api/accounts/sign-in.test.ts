import { createHook } from "node:async_hooks";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { newUser as putUser } from "./accounts.ts";
import { client, type Answer } from "../../support/client.ts";
import { createOrganisation, type TestOrganisation } from "../../support/service.ts";
import { checkedClient, expectDocumented } from "../http/conformance.ts";
import { startInProcess, type InProcessApi } from "../in-process.ts";

let api: InProcessApi;
let org: TestOrganisation;
beforeAll(async () => {
  api = await startInProcess({ env: { MILLRACE_TRUSTED_PROXIES: "127.0.0.1" } });
  org = await createOrganisation(api);
});
afterAll(() => api.close());

let networks = 0;
/** A client address that no other test uses. */
const elsewhere = (): string => `198.51.100.${++networks}`;

async function signIn(
  from: string,
  username: string,
  password: string,
  more: Record<string, string> = {},
): Promise<Answer> {
  const answer = await client(api).post(
    "/token",
    new URLSearchParams({ grant_type: "password", username, password, ...more }),
    { headers: { "content-type": "application/x-www-form-urlencoded", "x-forwarded-for": from } },
  );
  expectDocumented("POST", "/token", answer);
  return answer;
}

const newUser = (email: string, org_id = org.org_id) => putUser(api.db, { org_id, email, role: "viewer" });

/** Multiplies the counted wrong guesses, because each real guess takes 200 ms. */
const countGuesses = (limiter: string, points: number) =>
  api.db.system((db) =>
    db.query("update rate_limits set points = $2::int where key like $1::text || ':%' and points > 0", [
      limiter,
      points,
    ]),
  );
const forgetGuesses = () => api.db.system((db) => db.query("delete from rate_limits"));

describe("sign-in-flood: the sign-in", () => {
  it("checks at most two passwords at the same time, however many sign-ins arrive", async () => {
    const user = await newUser("flood@example.test");
    const under = new Set<number>();
    let most = 0;
    const watch = createHook({
      init(id, type) {
        if (type === "SCRYPTREQUEST") most = Math.max(most, under.add(id).size);
      },
      before: (id) => void under.delete(id),
    }).enable();
    const from = elsewhere();
    const flood = Array.from({ length: 8 }, (_, at) =>
      signIn(from, at === 7 ? user.email : `none-${at}@example.test`, user.password),
    );
    const answers = await Promise.all(flood);
    watch.disable();
    expect(answers.map(({ status }) => status)).toEqual([400, 400, 400, 400, 400, 400, 400, 200]);
    expect(most).toBe(2);
  });

  it("counts guesses per user, however the address is spelled", async () => {
    const user = await newUser("editor@example.test");
    const from = elsewhere();
    expect((await signIn(from, "EDITOR@example.test", "wrong")).status).toBe(400);
    await countGuesses("sign-in", 10);
    for (const spelling of ["editor@example.test", "Editor@EXAMPLE.test"])
      expect((await signIn(from, spelling, user.password)).status).toBe(429);
    // Letters that look alike do not match.
    expect((await signIn(from, "ed\u0130tor@example.test", user.password)).body.error).toBe("invalid_grant");
    expect((await signIn(from, "ed\u0131tor@example.test", user.password)).body.error).toBe("invalid_grant");
  });

  it("counts all addresses of an IPv6 network as one", async () => {
    const user = await newUser("six@example.test");
    expect((await signIn("2001:db8:1:2::1", user.email, "wrong")).status).toBe(400);
    await countGuesses("sign-in", 10);
    expect((await signIn("2001:db8:1:2:ffff::2", user.email, user.password)).status).toBe(429);
    expect((await signIn("2001:db8:1:3::1", user.email, user.password)).status).toBe(200);
  });

  it("slows down an office that contains a guesser, and locks no one out", async () => {
    await forgetGuesses();
    const office = elsewhere();
    const [known, fresh] = [await newUser("known@example.test"), await newUser("fresh@example.test")];
    expect((await signIn(office, known.email, known.password)).status).toBe(200);
    expect((await signIn(office, "guess@example.test", "wrong")).status).toBe(400);
    await countGuesses("sign-in-of", 100);
    expect((await signIn(office, fresh.email, fresh.password)).status).toBe(200);
    expect((await signIn(office, "other@example.test", "wrong")).status).toBe(400);
    await countGuesses("sign-in-beyond", 20);
    const refused = await signIn(office, "third@example.test", "wrong");
    expect(refused).toMatchObject({ status: 429, body: { code: "rate_limited" } });
    expect(Number(refused.headers.get("retry-after"))).toBeLessThanOrEqual(60);
    expect((await signIn(office, known.email, known.password)).status).toBe(200);
    expect((await signIn(office, fresh.email, fresh.password)).status).toBe(200);
    expect((await signIn(elsewhere(), "third@example.test", "wrong")).status).toBe(400);
  });

  it("slows down guesses at one user from everywhere, but not from networks the user has used", async () => {
    await forgetGuesses();
    const user = await newUser("target@example.test");
    const home = elsewhere();
    expect((await signIn(home, user.email, user.password)).status).toBe(200);
    expect((await signIn(elsewhere(), user.email, "wrong")).status).toBe(400);
    await countGuesses("sign-in-of", 100);
    expect((await signIn(elsewhere(), user.email, "wrong")).status).toBe(400);
    await countGuesses("sign-in-beyond", 20);
    expect((await signIn(elsewhere(), user.email, "wrong")).status).toBe(429);
    expect((await signIn(home, user.email, user.password)).status).toBe(200);
  });
});

describe("an address in several organisations", () => {
  it("does not reveal to one organisation who is a user of another", async () => {
    const others = await createOrganisation(api);
    const create = (key: string, password: string) =>
      checkedClient(api, key).post("/v2/users", { email: "Both@example.test", password, role: "viewer" });
    const passwords = ["correct horse one", "correct horse two"] as const;
    const made = [await create(org.secretKey, passwords[0]), await create(others.secretKey, passwords[1])];
    expect(made.map(({ status }) => status)).toEqual([201, 201]);
    expect((await create(others.secretKey, passwords[1])).body.code).toBe("name_taken");
    // Both users share one salt, so the duration of a sign-in does not reveal how many users have the address.
    const salts = await api.db.system((db) =>
      db.query("select distinct split_part(password_hash, '$', 4) from users where email = 'Both@example.test'"),
    );
    expect(salts).toHaveLength(1);

    const whose = async (password: string, more: Record<string, string> = {}): Promise<string | number> => {
      const { status, body } = await signIn(elsewhere(), "both@example.test", password, more);
      if (status !== 200) return status;
      const rows = await api.db.system((db) =>
        db.query<{ org_id: string }>("select org_id from oauth_tokens order by token_id desc limit 1"),
      );
      expect((await checkedClient(api, body.access_token).get("/v2/limits")).status).toBe(200);
      return rows[0]?.org_id ?? "";
    };
    expect(await whose(passwords[0])).toBe(org.org_id);
    expect(await whose(passwords[1])).toBe(others.org_id);
    expect(await whose(passwords[0], { org_id: others.org_id })).toBe(400);
    expect(await whose(passwords[0], { org_id: "nonsense" })).toBe(400);
    // With the same password in both organisations, the one that set it last wins, unless the request names one.
    const { user_id } = made[0]?.body ?? {};
    await checkedClient(api, org.secretKey).patch(`/v2/users/${user_id}`, { password: passwords[1] });
    expect(await whose(passwords[1])).toBe(org.org_id);
    expect(await whose(passwords[1], { org_id: others.org_id })).toBe(others.org_id);
    // A disabled user does not hide the other user.
    await checkedClient(api, org.secretKey).patch(`/v2/users/${user_id}`, { disabled: true });
    expect(await whose(passwords[1])).toBe(others.org_id);
  });
});
