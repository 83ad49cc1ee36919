import { createServer, type AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createKey, createOrganisation, createUser } from "../../src/cli/accounts.ts";
import { hashSecret, matchPassword } from "../../src/platform/secrets/crypto.ts";
import { findApiKeyByHash } from "../../src/stores/accounts/api-keys.ts";
import { findUsersByAddress } from "../../src/stores/accounts/users.ts";
import { testDatabase } from "../support/database.ts";
import { millrace } from "./millrace.ts";

describe("accounts created on the command line", () => {
  let test: Awaited<ReturnType<typeof testDatabase>>;
  beforeAll(async () => {
    test = await testDatabase();
  });
  afterAll(() => test.close());

  /** URL of another database on the same server. */
  function elsewhere(database: string): string {
    const url = new URL(test.url);
    url.pathname = `/${database}`;
    return url.href;
  }

  it.each([
    ["a server that does not answer", () => "postgres://ada:sesame@127.0.0.1:9/acme", "ECONNREFUSED", "Start it"],
    ["a database that is not there", () => elsewhere("none"), "does not exist", "Create the database"],
  ])("for %s, name the server and the fix without the password", async (_, address, reason, advice) => {
    const url = address();
    const { code, stdout, stderr } = await millrace(["orgs", "list", "--database-url", url]);
    expect([code, stdout]).toEqual([1, ""]);
    const { host, pathname, password } = new URL(url);
    expect(stderr).toMatch(
      new RegExp(`^Postgres at ${host}${pathname}: .*${reason}.*\\. ${advice}.*DATABASE_URL.*\\n$`),
    );
    if (password !== "") expect(stderr).not.toContain(password);
  });

  it("name the server and the fix if it accepts the connection but does not respond", async () => {
    const silent = createServer();
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    const { port } = silent.address() as AddressInfo;
    const { stderr } = await millrace(["orgs", "list", "--database-url", `postgres://ada@127.0.0.1:${port}/acme`]);
    expect(stderr).toMatch(
      /^Postgres at 127\.0\.0\.1:\d+\/acme: [^\n]*timeout\. Start it, or correct DATABASE_URL \(host, port\)\.\n$/,
    );
    silent.close();
  });

  it("include keys that are found by the hash of their value", async () => {
    const { org_id } = await createOrganisation(test.database, "acme");
    const key = await createKey(test.database, { org_id, name: "ci", kind: "secret" });
    expect(key.value).toMatch(/^mr_sec_/);
    const found = await test.database.system((db) => findApiKeyByHash(db, hashSecret(key.value)));
    expect(found).toMatchObject({ key_id: key.key_id, org_id, kind: "secret", expires_at: null });
  });

  it("include a generated password that works for sign-in", async () => {
    const { org_id } = await createOrganisation(test.database, "acme");
    const user = await createUser(test.database, { org_id, email: "ada@example.test", role: "admin" });
    const [found] = await test.database.system((db) => findUsersByAddress(db, "ada@example.test"));
    expect((await matchPassword(user.password, [found?.password_hash ?? ""])).size).toBe(1);
  });

  it("reject an e-mail address that the organisation already has", async () => {
    const [first, second] = [
      await createOrganisation(test.database, "a"),
      await createOrganisation(test.database, "b"),
    ];
    await createUser(test.database, { org_id: first.org_id, email: "bob@example.test", role: "viewer" });
    const again = createUser(test.database, { org_id: first.org_id, email: "Bob@example.test", role: "viewer" });
    await expect(again).rejects.toThrow("User Bob@example.test already exists.");
    await createUser(test.database, { org_id: second.org_id, email: "Bob@example.test", role: "viewer" });
  });

  it("need --same-name for a second organisation with the same name", async () => {
    const create = (...more: string[]) =>
      millrace(["orgs", "create", "twice", "--json", ...more], { DATABASE_URL: test.url });
    const outcomes = await Promise.all([create(), create()]);
    const [made, refused] = outcomes.toSorted((a, b) => a.code - b.code);
    const { org_id } = JSON.parse(made?.stdout ?? "");
    expect(refused).toEqual({
      code: 1,
      stdout: "",
      stderr: `Organisation twice already exists: ${org_id}. Choose another name, or pass --same-name to create a second one.\n`,
    });
    expect(await create("--same-name")).toMatchObject({ code: 0, stderr: "" });
  });

  it("include a key that expires at the latest time that can be written", async () => {
    const { org_id } = await createOrganisation(test.database, "acme");
    const key = ["keys", "create", "--org", org_id, "--expires-at", "9999-12-31T23:59:59-23:59"];
    expect(await millrace(key, { DATABASE_URL: test.url })).toMatchObject({ code: 0, stderr: "" });
  });

  it("include restricted keys, but no key with an invalid restriction", async () => {
    const { org_id } = await createOrganisation(test.database, "acme");
    const create = (...more: string[]) =>
      millrace(["keys", "create", "--org", org_id, "--json", ...more], { DATABASE_URL: test.url });
    const made = await create(
      "--scopes",
      "runs:read, knowledge:*",
      "--read-only",
      "--allowed-addresses",
      "192.0.2.0/24",
    );
    const limits = { scopes: ["runs:read", "knowledge:*"], read_only: true, allowed_addresses: ["192.0.2.0/24"] };
    expect(JSON.parse(made.stdout)).toMatchObject({ ...limits, projects: null, allowed_origins: null });
    expect((await create("--scopes", "runs")).stderr).toContain("--scopes");
    expect((await create("--allowed-addresses", "here")).stderr).toContain("Must be an IP address or a network (CIDR)");
    const unknown = await create("--projects", "0197f0a0-0000-7000-8000-000000000000");
    expect(unknown.stderr).toContain("Project 0197f0a0-0000-7000-8000-000000000000 not found");
  });

  it("have quota changes in the audit log", async () => {
    const { org_id } = await createOrganisation(test.database, "acme");
    const set = (most: string) =>
      millrace(["quotas", "set", "--org", org_id, "--concurrent-runs", most], { DATABASE_URL: test.url });
    for (const most of ["5", "none"]) expect(await set(most)).toMatchObject({ code: 0, stderr: "" });
    expect((await set("1.5")).stderr).toContain("Pass a whole number");
    const nothing = await millrace(["quotas", "set", "--org", org_id], { DATABASE_URL: test.url });
    expect(nothing).toMatchObject({ code: 2, stderr: expect.stringContaining("Pass a quota") });
    const entries = await test.database.org(org_id, (db) =>
      db.query("select actor_type, target_id, changes from audit_log where operation = 'quotas set' order by entry_id"),
    );
    const entry = { actor_type: "cli", target_id: org_id };
    expect(entries).toEqual([
      { ...entry, changes: { concurrent_runs: { after: 5 } } },
      { ...entry, changes: { concurrent_runs: { before: 5 } } },
    ]);
  });

  it("give secret keys the configured lifetime, and list when each key expires", async () => {
    const { org_id } = await createOrganisation(test.database, "acme");
    const environment = { DATABASE_URL: test.url, MILLRACE_SECRET_KEY_DAYS: "30" };
    for (const more of [
      ["--name", "usual"],
      ["--name", "own", "--expires-at", "never"],
      ["--name", "page", "--kind", "public"],
    ])
      expect(await millrace(["keys", "create", "--org", org_id, ...more], environment)).toMatchObject({ code: 0 });
    const { stdout } = await millrace(["keys", "list", "--org", org_id], environment);
    const [head = "", ...lines] = stdout.trim().split("\n");
    expect(
      head
        .trim()
        .split(/\s{2,}/)
        .at(-1),
    ).toBe("EXPIRES");
    const ends = Object.fromEntries(
      lines.map((line) => line.trim().split(/\s{2,}/)).map((cells) => [cells[3], cells.at(-1)]),
    );
    expect(ends).toEqual({ usual: expect.stringMatching(/^\d{4}-\d{2}-\d{2}T/), own: "never", page: "never" });
    const wrong = await millrace(["keys", "create", "--org", org_id], {
      ...environment,
      MILLRACE_SECRET_KEY_DAYS: "soon",
    });
    expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining("MILLRACE_SECRET_KEY_DAYS") });
  });

  const long = "x".repeat(201);
  it.each([
    ["an organisation without a name", ["orgs", "create", " "], "1 to 200 characters"],
    ["an organisation with too long a name", ["orgs", "create", long], "1 to 200 characters"],
    ["a user without an address", ["users", "create", "", "--password", "sesame street"], "email"],
    ["a user with a wrong address", ["users", "create", "notanemail"], "ada@example.com"],
    ["a user with too long an address", ["users", "create", `${long}@${long}.test`], "ada@example.com"],
    ["a user with no password", ["users", "create", "a@example.test", "--password", ""], "12 to 1000 characters"],
    [
      "a user with a common password",
      ["users", "create", "a@example.test", "--password", "password1234"],
      "--password",
    ],
    ["a user with a short password", ["users", "create", "a@example.test", "--password", "sesame"], "--password"],
    ["a user of nothing", ["users", "create", "a@example.test", "--org", "mine"], "--org"],
    ["a key without a name", ["keys", "create", "--name", ""], "--name"],
    ["a key with too long a name", ["keys", "create", "--name", long], "1 to 200 characters"],
    ["a key that has expired", ["keys", "create", "--expires-at", "2020-01-01T00:00:00Z"], "time in the future"],
    ["a key until a time without zone", ["keys", "create", "--expires-at", "2100-01-01T00:00:00"], "with its zone"],
    ["a key until a day", ["keys", "create", "--expires-at", "2100-01-01"], "with its zone"],
    ["a key until no time", ["keys", "create", "--expires-at", "soon"], "--expires-at"],
    ["the end of no key", ["keys", "revoke", "mine"], "key_id"],
  ])("reject %s like the API, without printing a password", async (_, args, message) => {
    // Nothing listens at this address, so the arguments must be refused before the database is contacted.
    const outcome = await millrace(args, { DATABASE_URL: "postgres://nobody@127.0.0.1:9/nowhere" });
    expect(outcome).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining(message) });
    expect(outcome.stderr).not.toContain("sesame");
  });
});
