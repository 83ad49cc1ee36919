import { randomUUID } from "node:crypto";
import { uuidv7 } from "uuidv7";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { createUser, revokeKey } from "../../../src/cli/accounts.ts";
import {
  insertAuditEntry,
  listAuditEntries,
  purgeAuditEntries,
  type NewAuditEntry,
} from "../../../src/stores/audit/audit-log.ts";
import { firstIdOf } from "../../../src/domain/uuid.ts";
import { createOrganisation, type TestOrganisation } from "../../support/service.ts";
import { askToken } from "../accounts/accounts.ts";
import { checkedClient } from "../http/conformance.ts";
import { startInProcess, type InProcessApi } from "../in-process.ts";

const LOG = "/v2/audit-log";
let api: InProcessApi;
let org: TestOrganisation;
let other: TestOrganisation;
const secret = () => checkedClient(api, org.secretKey);

beforeAll(async () => {
  api = await startInProcess();
  [org, other] = [await createOrganisation(api, "mine"), await createOrganisation(api, "other")];
});
afterAll(() => api.close());

/** The entries that match a filter, newest first. */
async function entries(query: Record<string, string> = {}) {
  const { status, body } = await secret().get(LOG, { query });
  expect(status).toBe(200);
  return body.data;
}

describe("an entry", () => {
  it("says who changed which fields of what, from where, and in which request", async () => {
    const { body: project } = await secret().post("/v2/projects", { name: "before" });
    const requestId = randomUUID();
    const headers = { "x-request-id": requestId, "user-agent": "audit test" };
    await secret().patch(`/v2/projects/${project.project_id.toUpperCase()}`, { name: "after" }, { headers });
    const [changed, created, ...rest] = await entries({ target: project.project_id });
    expect(rest).toEqual([]);
    expect(changed).toMatchObject({
      actor: { type: "org_api_key", session_id: null, address: "127.0.0.1", user_agent: "audit test" },
      request_id: requestId,
      operation: "changeProject",
      target: { type: "project", id: project.project_id },
      outcome: "success",
      changes: { name: { before: "before", after: "after" } },
    });
    expect(created.changes.name).toEqual({ after: "before" });
    expect(await entries({ target: project.project_id.toUpperCase() })).toEqual([changed, created]);
    await secret().delete(`/v2/projects/${project.project_id}`);
    const [deleted] = await entries({ target: project.project_id });
    expect(deleted.changes.name).toEqual({ before: "after" });
  });

  it("shortens long values, and shows of a secret only that it was replaced", async () => {
    const description = "long ".repeat(1000);
    const { body: project } = await secret().post("/v2/projects", { name: "long", description });
    const [{ changes }] = await entries({ target: project.project_id });
    expect(changes.description.after).toHaveLength(1025);
    const user = await createUser(api.db, { org_id: org.org_id, email: "secret@example.test", role: "viewer" });
    await secret().patch(`/v2/users/${user.user_id}`, { password: "another long passphrase" });
    const [changed, made] = await entries({ target: user.user_id });
    expect(changed.changes).toEqual({ password: { after: "[redacted]" } });
    expect(made).toMatchObject({ actor: { type: "cli", id: null, address: null }, operation: "users create" });
    expect(JSON.stringify([changed, made])).not.toMatch(/passphrase/);
    expect(JSON.stringify(made)).not.toContain(user.password);
  });

  it("is written in the same transaction as the change", async () => {
    const { body: project } = await secret().post("/v2/projects", { name: "kept" });
    const path = `/v2/projects/${project.project_id}`;
    await api.db.system((db) =>
      db.query("alter table audit_log add constraint none check (operation <> 'changeProject') not valid"),
    );
    try {
      expect((await secret().patch(path, { name: "lost" })).status).toBe(500);
    } finally {
      await api.db.system((db) => db.query("alter table audit_log drop constraint none"));
    }
    expect((await secret().get(path)).body.name).toBe("kept");
  });

  it("is not written again for a replayed response", async () => {
    const headers = { "idempotency-key": randomUUID() };
    const { body } = await secret().post("/v2/projects", { name: "once" }, { headers });
    await secret().post("/v2/projects", { name: "once" }, { headers });
    expect(await entries({ target: body.project_id })).toHaveLength(1);
  });
});

describe("sign-ins", () => {
  it("are recorded for the user with the session; rejected ones without an actor", async () => {
    const email = "ada@example.test";
    const user = await createUser(api.db, { org_id: org.org_id, email, role: "admin" });
    const session = await checkedClient(api).post("/console/session", { email, password: user.password });
    expect(session.status).toBe(201);
    await askToken(api, { grant_type: "password", username: email, password: user.password });
    await askToken(api, { grant_type: "password", username: email.toUpperCase(), password: "wrong" });
    await checkedClient(api).post("/console/session", { email, password: "wrong" });
    await vi.waitFor(async () => {
      const found = await entries({ target: user.user_id });
      const seen = found.map((each: { operation: string; outcome: string }) => `${each.operation} ${each.outcome}`);
      const expected = ["createToken failure", "createToken success", "openSession failure", "openSession success"];
      expect(seen.sort()).toEqual([...expected, "users create success"]);
    }, 20_000);
    const [opened] = await entries({ actor: user.user_id, operation: "openSession" });
    expect(opened.actor).toMatchObject({ type: "user", id: user.user_id, session_id: session.body.session_id });
    const [, refused] = (await entries({ operation: "openSession" })).sort((a: { outcome: string }) =>
      a.outcome === "failure" ? 1 : -1,
    );
    expect(refused.actor).toMatchObject({ type: "user", id: null, session_id: null });
  });
});

describe("the log", () => {
  it("can be filtered, paged and downloaded as JSON lines, oldest first", async () => {
    const names = ["one", "two", "three"];
    const since = new Date().toISOString();
    for (const name of names) await secret().post("/v2/projects", { name });
    const { body: page } = await secret().get(LOG, { query: { operation: "createProject", since, page_size: 2 } });
    expect([page.data.length, page.has_more]).toEqual([2, true]);
    const rest = await entries({ operation: "createProject", since, page_size: "2", cursor: page.cursor });
    const all = [...page.data, ...rest].map(({ changes }) => changes.name.after);
    expect(all).toEqual([...names].reverse());
    expect(await entries({ until: since, operation: "createProject", target: page.data[0].target.id })).toEqual([]);
    const file = await secret().raw("GET", `${LOG}/export?operation=createProject&since=${encodeURIComponent(since)}`);
    expect(file.headers.get("content-type")).toBe("application/x-ndjson");
    const lines = (await file.text()).trim().split("\n");
    expect(lines.map((line) => JSON.parse(line).changes.name.after)).toEqual(names);
    expect((await secret().get(LOG, { query: { since: "yesterday" } })).status).toBe(422);
    expect((await checkedClient(api).get(LOG)).status).toBe(401);
  });

  it("is downloaded whole, also beyond the entries that are read at a time", async () => {
    const { org_id, secretKey } = await createOrganisation(api, "long");
    const ids = Array.from({ length: 501 }, () => uuidv7());
    await api.db.org(org_id, async (db) => {
      for (const entry_id of ids) await insertAuditEntry(db, { ...blank(org_id), entry_id });
    });
    const file = await checkedClient(api, secretKey).raw("GET", `${LOG}/export?operation=x`);
    const lines = (await file.text()).trim().split("\n");
    expect(lines.map((line) => JSON.parse(line).entry_id)).toEqual(ids);
  });

  it("shows an organisation only its own entries", async () => {
    const strange = checkedClient(api, other.secretKey);
    const { body } = await strange.get(LOG, { query: { page_size: 200 } });
    const operations = body.data.map((each: { operation: string }) => each.operation);
    expect(new Set(operations)).toEqual(new Set(["keys create", "orgs create"]));
    const [mine] = await entries({ operation: "createProject" });
    expect((await strange.get(LOG, { query: { target: mine.target.id } })).body.data).toEqual([]);
  });

  it("cannot be changed, shortened or written for others by the service's database role", async () => {
    const [entry] = await entries();
    const update = ["update audit_log set operation = 'none' where entry_id = $1::uuid", [entry.entry_id]] as const;
    await expect(api.db.org(org.org_id, (db) => db.query(...update))).rejects.toThrow("permission denied");
    await expect(api.db.system((db) => db.query(...update))).rejects.toThrow("audit_log is never changed");
    const remove = ["delete from audit_log where entry_id = $1::uuid", [entry.entry_id]] as const;
    await expect(api.db.org(org.org_id, (db) => db.query(...remove))).rejects.toThrow("permission denied");
    const foreign = { ...blank(other.org_id), entry_id: uuidv7() };
    await expect(api.db.org(org.org_id, (db) => insertAuditEntry(db, foreign))).rejects.toThrow("row-level security");
    expect((await entries())[0]).toEqual(entry);
  });

  it("is kept for the configured time", async () => {
    const { org_id } = await createOrganisation(api, "old");
    const old = "0193f0a0-0000-7000-8000-000000000000";
    const young = firstIdOf(Date.now() - 7_200_000);
    for (const entry_id of [old, young])
      await api.db.org(org_id, (db) => insertAuditEntry(db, { ...blank(org_id), entry_id }));
    const ids = () =>
      api.db.org(org_id, async (db) =>
        (await listAuditEntries(db, {}, { beyond: null, ascending: true, limit: 50 })).map((each) => each.entry_id),
      );
    const before = await ids();
    expect(before.slice(0, 2)).toEqual([old, young]);
    await api.db.system((db) => purgeAuditEntries(db, 1, 1000));
    expect(await ids()).toEqual(before.slice(1));
  });

  it("records the actions of the command line", async () => {
    const { body: key } = await secret().post("/v2/api-keys", { name: "to revoke", kind: "public" });
    expect(await revokeKey(api.db, org.org_id, key.key_id)).toBe(true);
    expect(await revokeKey(api.db, org.org_id, key.key_id)).toBe(false);
    const [revoked, ...rest] = await entries({ target: key.key_id });
    expect(revoked).toMatchObject({ actor: { type: "cli" }, operation: "keys revoke" });
    expect(rest).toHaveLength(1);
  });
});

function blank(org_id: string): Omit<NewAuditEntry, "entry_id"> {
  const nowhere = { session_id: null, address: null, user_agent: null, request_id: null };
  const nothing = { target_type: null, target_id: null, changes: {} };
  return { ...nowhere, ...nothing, org_id, actor_type: "system", actor_id: null, operation: "x", outcome: "success" };
}
