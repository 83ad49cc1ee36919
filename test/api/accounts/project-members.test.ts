import { uuidv7 } from "uuidv7";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createSignInLink } from "../../../src/services/accounts/sessions.ts";
import type { TestClient } from "../../support/client.ts";
import { service } from "../../support/service.ts";
import { checkedClient } from "../http/conformance.ts";
import { newUser } from "./accounts.ts";
import { startInProcess, type InProcessApi } from "../in-process.ts";
import { asking, echo, openTenant, type ApiTenant } from "../tenant.ts";

let api: InProcessApi;
/** A second process on the same database, which has to learn of changes made by the first. */
let elsewhere: InProcessApi;
let tenant: ApiTenant;
let project: string;
let other: string;
beforeAll(async () => {
  // No worker runs, so no run makes progress and streams send nothing.
  const quiet = { env: { MILLRACE_STREAM_KEEP_ALIVE_MS: "300" } };
  api = await startInProcess(quiet);
  elsewhere = await startInProcess({ ...quiet, databaseUrl: api.databaseUrl });
  tenant = await openTenant({ ...service(), ...api });
  [project, other] = [await tenant.deploy(echo()), await tenant.deploy(echo())];
});
afterAll(async () => {
  await elsewhere.close();
  await api.close();
});

async function person(role: "member" | "viewer" | "editor") {
  const client = await tenant.user(role);
  const { body: me } = await client.get("/v2/me");
  const grant = (projectRole: string, of = project, by = tenant.secret) =>
    by.put(`/v2/projects/${of}/members/${me.id}`, { role: projectRole });
  return { client, id: String(me.id), grant, path: `/v2/projects/${project}/members/${me.id}` };
}

const rename = (client: TestClient, of: string) => client.patch(`/v2/projects/${of}`, { name: "renamed" });
const status = async (answer: Promise<{ readonly status: number }>): Promise<number> => (await answer).status;

describe("roles in projects", () => {
  it("can be set, listed by project and by user, shown to their user, and deleted", async () => {
    const { client, id, grant, path } = await person("member");
    const set = await grant("viewer");
    expect([set.status, set.body]).toEqual([
      200,
      {
        project_id: project,
        project_name: "test",
        user_id: id,
        email: expect.stringContaining("member-"),
        role: "viewer",
        created_at: expect.any(String),
      },
    ]);
    expect((await grant("editor")).body.role).toBe("editor");
    expect((await tenant.secret.get(`/v2/users/${id}/projects`)).body.data).toEqual([{ ...set.body, role: "editor" }]);
    const { body: members } = await tenant.secret.get(`/v2/projects/${project}/members`);
    expect(members.data).toContainEqual({ ...set.body, role: "editor" });
    const { body: me } = await client.get("/v2/me");
    expect([me.role, me.project_roles]).toEqual(["member", [{ project_id: project, role: "editor" }]]);
    expect(await status(tenant.secret.delete(path))).toBe(204);
    expect(await status(tenant.secret.delete(path))).toBe(404);
    expect((await client.get("/v2/me")).body.project_roles).toEqual([]);
  });

  it.each([
    ["viewer", [200, 403, 403, 403]],
    ["editor", [200, 200, 201, 403]],
    ["admin", [200, 200, 201, 200]],
  ])(
    "allow a member as %s what that role allows, in this project only, from the next request on",
    async (role, expected) => {
      const { client, grant, path } = await person("member");
      const tried = (of: string) =>
        Promise.all([
          status(client.get(`/v2/projects/${of}`)),
          status(rename(client, of)),
          status(client.post("/v2/runs", { project_id: of, inputs: { "in-0": "x" } })),
          status(client.get(`/v2/projects/${of}/members`)),
        ]);
      expect(await tried(project)).toEqual([404, 404, 404, 404]);
      await grant(role);
      expect(await tried(project)).toEqual(expected);
      expect(await tried(other)).toEqual([404, 404, 404, 404]);
      await tenant.secret.delete(path);
      expect(await tried(project)).toEqual([404, 404, 404, 404]);
    },
  );

  it("apply to runs and their decisions, which have their own IDs", async () => {
    const asked = await tenant.deploy(asking());
    const run = (await tenant.secret.post("/v2/runs", { project_id: asked, inputs: {} })).body.run_id;
    const { client, grant } = await person("member");
    expect(await status(client.get(`/v2/runs/${run}`))).toBe(404);
    await grant("viewer", asked);
    expect(await status(client.get(`/v2/runs/${run}`))).toBe(200);
    expect(await status(client.post(`/v2/runs/${run}/cancel`))).toBe(403);
    await grant("editor", asked);
    expect((await client.post(`/v2/runs/${run}/cancel`)).status).toBeLessThan(300);
  });

  it("raise the organisation role in the project, and never lower it", async () => {
    const viewer = await person("viewer");
    expect(await status(rename(viewer.client, project))).toBe(403);
    await viewer.grant("editor");
    expect(await status(rename(viewer.client, project))).toBe(200);
    expect([
      await status(rename(viewer.client, other)),
      await status(viewer.client.get(`/v2/projects/${other}`)),
    ]).toEqual([403, 200]);
    expect(await status(viewer.client.get("/v2/knowledge-bases"))).toBe(200);
    const editor = await person("editor");
    await editor.grant("viewer");
    expect(await status(rename(editor.client, project))).toBe(200);
  });

  it("show credentials in a flow only to members who may edit it", async () => {
    const nodes = [
      {
        id: "http-0",
        type: "http",
        config: { url: "https://example.com", headers: { "X-Api-Key": "a-key-in-a-flow" } },
      },
      { id: "out-0", type: "output" },
    ];
    const flow = { schema_version: 1, name: "calls", nodes, edges: [{ source: "http-0", target: "out-0" }] };
    const { body: made } = await tenant.secret.post("/v2/projects", { name: "calls", flow });
    const { client, grant } = await person("viewer");
    const shown = async () => JSON.stringify((await client.get(`/v2/projects/${made.project_id}/versions/1`)).body);
    expect(await shown()).not.toContain("a-key-in-a-flow");
    await grant("editor", made.project_id);
    expect(await shown()).toContain("a-key-in-a-flow");
  });

  it("apply to console sessions, and streams end soon after a role is deleted, in every process", async () => {
    const user = await newUser(api.db, { org_id: tenant.org_id, email: `${uuidv7()}@example.test`, role: "member" });
    await tenant.secret.put(`/v2/projects/${project}/members/${user.user_id}`, { role: "viewer" });
    const run = (await tenant.secret.post("/v2/runs", { project_id: project, inputs: { "in-0": "x" } })).body.run_id;
    const there = checkedClient(elsewhere);
    const opened = await there.post("/console/session", { link: await createSignInLink(api.db, user) });
    const cookie = (opened.headers.get("set-cookie") ?? "").split(";", 1)[0] ?? "";
    expect(opened.body.project_roles).toEqual([{ project_id: project, role: "viewer" }]);
    const read = (headers: Record<string, string> = {}) =>
      there.raw("GET", `/v2/runs/${run}`, undefined, { headers: { cookie, ...headers } });
    expect(await status(read())).toBe(200);
    const stream = await read({ accept: "text/event-stream" });
    expect(stream.status).toBe(200);
    await tenant.secret.delete(`/v2/projects/${project}/members/${user.user_id}`);
    expect(await stream.text()).not.toContain("run.finished");
    await expect.poll(() => status(read()), { timeout: 20_000 }).toBe(404);
  });
});

describe("the right to set roles in a project", () => {
  it("also belongs to admins of the project, and to no lower role", async () => {
    const [boss, colleague] = [await person("member"), await person("member")];
    for (const role of ["viewer", "editor"]) {
      await boss.grant(role);
      expect(await status(boss.grant("admin", project, boss.client))).toBe(403);
      expect(await status(boss.client.delete(boss.path))).toBe(403);
      expect(await status(boss.client.get(`/v2/projects/${project}/members`))).toBe(403);
    }
    const editor = await person("editor");
    expect(await status(editor.grant("admin", project, editor.client))).toBe(403);
    await boss.grant("admin");
    expect(await status(colleague.grant("editor", project, boss.client))).toBe(200);
    expect(await status(colleague.grant("editor", other, boss.client))).toBe(404);
    // A project admin has no rights in the organisation, not even for the own user.
    expect(await status(boss.client.patch(`/v2/users/${boss.id}`, { role: "admin" }))).toBe(403);
    expect(await status(boss.client.get(`/v2/users/${colleague.id}/projects`))).toBe(403);
    expect(await status(boss.client.post("/v2/api-keys", { name: "a", kind: "secret" }))).toBe(403);
    // A project admin who leaves the project cannot join it again.
    expect(await status(boss.client.delete(boss.path))).toBe(204);
    expect(await status(boss.grant("admin", project, boss.client))).toBe(404);
  });

  it("is recorded in the audit log with the old and the new role", async () => {
    const { id, grant, path } = await person("member");
    await grant("viewer");
    await grant("admin");
    await tenant.secret.delete(path);
    const { body } = await tenant.secret.get("/v2/audit-log", {
      query: { target: project, order: "asc", page_size: 200 },
    });
    const entries = body.data.filter(
      ({ changes }: { changes: Record<string, Record<string, unknown>> }) =>
        changes["user_id"]?.["after"] === id || changes["user_id"]?.["before"] === id,
    );
    expect(entries.map(({ operation, changes }: never) => [operation, changes["role"]])).toEqual([
      ["setProjectMember", { after: "viewer" }],
      ["setProjectMember", { before: "viewer", after: "admin" }],
      ["deleteProjectMember", { before: "admin" }],
    ]);
  });
});

describe("the user lookup for a new role in a project", () => {
  const find = (client: TestClient, email: string, of = project) =>
    client.get(`/v2/projects/${of}/member-candidates`, { query: { email } });
  const addressOf = async (id: string): Promise<string> => (await tenant.secret.get(`/v2/users/${id}`)).body.email;

  it("finds a user by the whole address in any case, for an admin of the project", async () => {
    const [boss, wanted] = [await person("member"), await person("viewer")];
    await boss.grant("admin");
    const email = await addressOf(wanted.id);
    const found = { user_id: wanted.id, email, role: null };
    for (const text of [email, email.toUpperCase()]) {
      const { status: code, body } = await find(boss.client, text);
      // The result shows neither the role in the organisation nor whether the user is disabled.
      expect([code, body]).toEqual([200, { data: [found] }]);
    }
    await wanted.grant("editor", project, boss.client);
    await wanted.grant("viewer", other);
    expect((await find(boss.client, email)).body.data).toEqual([{ ...found, role: "editor" }]);
    expect((await find(tenant.secret, email, other)).body.data).toEqual([{ ...found, role: "viewer" }]);
  });

  it("does not match a part of the address or a pattern", async () => {
    const { id } = await person("viewer");
    const email = await addressOf(id);
    const [name = "", host = ""] = email.split("@");
    for (const text of [`nobody-${email}`, email.slice(1), `${name.slice(0, -1)}_@${host}`, `${email}e`, "e@st.test"])
      expect([text, await find(tenant.secret, text)]).toMatchObject([text, { status: 200, body: { data: [] } }]);
    for (const text of ["", "a", id, `%@${host}`, name, `${"a".repeat(320)}@${host}`])
      expect([text, await status(find(tenant.secret, text))]).toEqual([text, 422]);
    expect(await status(tenant.secret.get(`/v2/projects/${project}/member-candidates`))).toBe(422);
  });

  it("finds no user of another organisation, and is hidden from callers who cannot set roles", async () => {
    const stranger = await openTenant({ ...service(), ...api });
    const theirs = await stranger.deploy(echo());
    const { id } = await person("viewer");
    const email = await addressOf(id);
    expect((await find(stranger.secret, email, theirs)).body).toEqual({ data: [] });
    expect(await status(find(stranger.secret, email))).toBe(404);
    expect(await status(find(tenant.secret, email, uuidv7()))).toBe(404);
    const reader = await person("member");
    expect(await status(find(reader.client, email))).toBe(404);
    for (const role of ["viewer", "editor"]) {
      await reader.grant(role);
      expect(await status(find(reader.client, email))).toBe(403);
    }
    await reader.grant("admin", other);
    expect(await status(find(reader.client, email))).toBe(403);
    expect(await status(find(tenant.public, email))).toBe(403);
    const headers = { authorization: "" };
    const query = { email };
    const nobody = checkedClient(api).get(`/v2/projects/${project}/member-candidates`, { query, headers });
    expect(await status(nobody)).toBe(401);
  });
});

describe("requests about roles in projects", () => {
  it("reject bad input, missing credentials, unknown IDs and IDs of another organisation", async () => {
    const { id, path } = await person("member");
    for (const body of [{}, { role: "member" }, { role: "owner" }, { role: "viewer", more: 1 }])
      expect(await status(tenant.secret.put(path, body))).toBe(422);
    const stranger = await openTenant({ ...service(), ...api });
    const theirs = await stranger.deploy(echo());
    const nobody = checkedClient(api);
    for (const [client, of, user, expected] of [
      [nobody, project, id, 401],
      [tenant.public, project, id, 403],
      [tenant.secret, project, uuidv7(), 404],
      [tenant.secret, uuidv7(), id, 404],
      [tenant.secret, theirs, id, 404],
      [stranger.secret, project, id, 404],
      [stranger.secret, theirs, id, 404],
    ] as const) {
      const member = `/v2/projects/${of}/members/${user}`;
      const headers = client === nobody ? { headers: { authorization: "" } } : {};
      expect(await status(client.put(member, { role: "viewer" }, headers))).toBe(expected);
      expect(await status(client.delete(member, headers))).toBe(expected);
    }
    expect(await status(stranger.secret.get(`/v2/projects/${project}/members`))).toBe(404);
    expect(await status(stranger.secret.get(`/v2/users/${id}/projects`))).toBe(404);
    expect(await status(nobody.get(`/v2/users/${id}/projects`, { headers: { authorization: "" } }))).toBe(401);
  });

  it("leave no roles behind when a user or a project is deleted", async () => {
    const { id, grant } = await person("member");
    const short = await tenant.deploy(echo());
    await grant("viewer", short);
    await grant("viewer");
    expect(await status(tenant.secret.delete(`/v2/projects/${short}`))).toBe(204);
    const { body } = await tenant.secret.get(`/v2/users/${id}/projects`);
    expect(body.data.map((each: { project_id: string }) => each.project_id)).toEqual([project]);
    expect(await status(tenant.secret.delete(`/v2/users/${id}`))).toBe(204);
    const { body: left } = await tenant.secret.get(`/v2/projects/${project}/members`, { query: { page_size: 200 } });
    expect(left.data.map((each: { user_id: string }) => each.user_id)).not.toContain(id);
  });

  it("do not turn the last admin into a member", async () => {
    const alone = await openTenant({ ...service(), ...api });
    const admin = await alone.user("admin");
    const { body: me } = await admin.get("/v2/me");
    expect(await status(admin.patch(`/v2/users/${me.id}`, { role: "member" }))).toBe(409);
  });
});
