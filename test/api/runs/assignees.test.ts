import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startModelStub, type ModelStub } from "../../../src/dev/model-stub.ts";
import { flow } from "../../engine/support.ts";
import type { Answer, TestClient } from "../../support/client.ts";
import { asking, echo, openTenant, type ApiTenant } from "../tenant.ts";

interface Person {
  readonly api: TestClient;
  readonly id: string;
  readonly email: string;
}

let tenant: ApiTenant;
let stub: ModelStub;
let ada: Person;
let bob: Person;
let admin: Person;
let viewer: Person;
beforeAll(async () => {
  tenant = await openTenant();
  stub = await startModelStub();
  [ada, bob, admin, viewer] = [
    await person("editor"),
    await person("editor"),
    await person("admin"),
    await person("viewer"),
  ];
});
afterAll(() => stub.close());

async function person(role: "viewer" | "editor" | "admin", of = tenant): Promise<Person> {
  const api = await of.user(role);
  const { body } = await api.get("/v2/me");
  return { api, id: body.user.user_id, email: body.user.email };
}

async function paused(config: Record<string, unknown>): Promise<{ run_id: string; pause_id: string }> {
  return pausedRun(await tenant.deploy(asking(config)));
}

async function pausedRun(project_id: string): Promise<{ run_id: string; pause_id: string }> {
  const { body } = await tenant.secret.post("/v2/runs", { project_id, inputs: {} });
  const { pauses } = await tenant.until(body.run_id, "PAUSED");
  return { run_id: body.run_id, pause_id: pauses[0].pause_id };
}

const answer = (by: TestClient, run_id: string, action = "approve"): Promise<Answer> =>
  by.post(`/v2/runs/${run_id}/resume`, { action });
const approvals = (definition: ReturnType<typeof asking>) =>
  definition.nodes.findIndex(({ id }) => id === "approval-0");

describe("assignees of a pause", () => {
  it("are the only ones who can answer it: no other editor, no admin, no API key", async () => {
    const { run_id, pause_id } = await paused({ assignees: { users: [ada.email.toUpperCase()] } });
    for (const by of [bob.api, admin.api, tenant.secret]) {
      for (const action of ["approve", "reject"]) {
        const refused = await answer(by, run_id, action);
        expect(refused).toMatchObject({ status: 403, body: { code: "not_an_assignee", pause_id } });
        expect(refused.body.detail).toContain(ada.email);
      }
    }
    expect((await answer(tenant.secret, run_id)).body.detail).toContain("API key");
    expect((await answer(viewer.api, run_id)).body.code).toBe("forbidden");
    expect((await tenant.secret.get(`/v2/runs/${run_id}`)).body).toMatchObject({
      state: "PAUSED",
      pauses: [{ status: "waiting", received: [], assignees: { users: [ada.email], roles: [] } }],
    });
    expect((await answer(ada.api, run_id)).status).toBe(202);
    await tenant.until(run_id, "COMPLETED");
    // A decision that is too late is reported as such, before any other error.
    const late = await bob.api.post(`/v2/runs/${run_id}/resume`, { pause_id, action: "approve" });
    expect(late.body.code).toBe("pause_already_resolved");
  });

  it.each([
    ["admin", ["admin"], () => [bob.api, tenant.secret], () => admin],
    ["editor, which an admin has too", ["editor"], () => [tenant.secret], () => admin],
    ["editor", ["editor"], () => [tenant.secret], () => bob],
  ])("can be everyone with the role %s", async (_, roles, others, may) => {
    const { run_id } = await paused({ assignees: { roles } });
    for (const by of others()) expect((await answer(by, run_id)).body.code).toBe("not_an_assignee");
    expect((await answer(may().api, run_id)).status).toBe(202);
    await tenant.until(run_id, "COMPLETED");
  });

  it("are all editors and keys if none are set", async () => {
    const { run_id } = await paused({});
    const { body } = await tenant.secret.get(`/v2/runs/${run_id}`);
    expect(body.pauses).toMatchObject([{ assignees: null }]);
    expect((await answer(tenant.secret, run_id)).status).toBe(202);
  });

  it("are the only ones counted in the quorum", async () => {
    const { run_id } = await paused({ required_approvals: 2, assignees: { users: [ada.id], roles: ["admin"] } });
    expect((await answer(ada.api, run_id)).body.state).toBe("PAUSED");
    for (const by of [bob.api, tenant.secret]) expect((await answer(by, run_id)).body.code).toBe("not_an_assignee");
    expect((await answer(ada.api, run_id)).body.code).toBe("pause_already_answered");
    const { body } = await tenant.secret.get(`/v2/runs/${run_id}`);
    expect(body.pauses[0].received.map(({ by }: { by: string }) => by)).toEqual([`user:${ada.id}`]);
    expect((await answer(admin.api, run_id)).status).toBe(202);
    await tenant.until(run_id, "COMPLETED");
  });

  it("also apply at the parent run of a subflow", async () => {
    const child = await tenant.deploy(asking({ assignees: { users: [ada.id] } }));
    const calling = flow(
      [
        { id: "flow-0", type: "subflow", config: { project_id: child } },
        { id: "out-0", type: "output" },
      ],
      ["flow-0>out-0"],
    );
    const { run_id } = await pausedRun(await tenant.deploy(calling));
    expect((await answer(admin.api, run_id)).body.code).toBe("not_an_assignee");
    expect((await answer(ada.api, run_id)).status).toBe(202);
    await tenant.until(run_id, "COMPLETED");
  });

  it("also apply to the approval of a tool call", async () => {
    const { body: connection } = await tenant.secret.post("/v2/connections", {
      name: "stub",
      provider_id: "openai_compatible",
      scheme: "api_key",
      credential: { api_key: "sk-planted", base_url: `${stub.url}/v1` },
    });
    const tool = {
      type: "subflow",
      project_id: await tenant.deploy(echo()),
      name: "echo",
      approval: true,
      assignees: { users: [ada.id] },
    };
    const config = { model: "m", connection_id: connection.connection_id, prompt: "Go", tools: [tool] };
    const agent = flow(
      [
        { id: "llm-0", type: "llm", config },
        { id: "out-0", type: "output" },
      ],
      ["llm-0>out-0"],
    );
    stub.next({ tools: [{ id: "call_0", name: "echo", input: { "in-0": "x" } }] }, { text: ["Done."] });
    const { run_id, pause_id } = await pausedRun(await tenant.deploy(agent));
    expect((await tenant.secret.get(`/v2/pauses/${pause_id}`)).body.assignees).toEqual({ users: [ada.id], roles: [] });
    for (const by of [bob.api, tenant.secret]) expect((await answer(by, run_id)).body.code).toBe("not_an_assignee");
    expect((await answer(ada.api, run_id)).status).toBe(202);
    expect((await tenant.until(run_id, "COMPLETED")).outputs["out-0"]).toBe("Done.");
  });

  it("exclude users who no longer have the role when they answer", async () => {
    const carl = await person("admin");
    const { run_id } = await paused({ assignees: { roles: ["admin"] } });
    await admin.api.patch(`/v2/users/${carl.id}`, { role: "editor" });
    expect((await answer(carl.api, run_id)).body.code).toBe("not_an_assignee");
  });

  it("do not stop a pause from expiring", async () => {
    const config = { assignees: { users: [ada.id] }, expires_in_seconds: 1, on_timeout: "approve" };
    const { run_id } = await paused(config);
    expect((await tenant.until(run_id, "COMPLETED")).outputs["out-0"]).toBe("yes null");
  });

  it("are hidden from callers with a public key", async () => {
    const project_id = await tenant.deploy(asking({ assignees: { users: [ada.email] } }));
    const { body } = await tenant.public.post(`/inference/v0/run/${tenant.org_id}/${project_id}`, {});
    expect(body.state).toBe("PAUSED");
    expect(JSON.stringify(body)).not.toContain(ada.email);
  });
});

describe("the list of pauses", () => {
  it("can be filtered by pauses that name a person, and by pauses that the caller may answer", async () => {
    const own = await openTenant();
    const [me, other, reader] = [await person("editor", own), await person("admin", own), await person("viewer", own)];
    const names: Record<string, Record<string, unknown>> = {
      "by address": { assignees: { users: [me.email, reader.email] } },
      "by id": { assignees: { users: [me.id, other.id] }, required_approvals: 2 },
      "by role": { assignees: { roles: ["editor"] } },
      "by a role above": { assignees: { roles: ["admin"] } },
      "by nothing": {},
    };
    const runs: Record<string, string> = {};
    for (const [message, config] of Object.entries(names)) {
      const project_id = await own.deploy(asking({ message, ...config }));
      const { body } = await own.secret.post("/v2/runs", { project_id, inputs: {} });
      await own.until(body.run_id, "PAUSED");
      runs[message] = body.run_id;
    }
    const list = async (by: TestClient, query: string): Promise<string[]> => {
      const { status, body } = await by.get(`/v2/pauses?status=waiting&order=asc&${query}`);
      expect(status, JSON.stringify(body)).toBe(200);
      for (const pause of body.data) expect((await by.get(`/v2/pauses/${pause.pause_id}`)).body).toEqual(pause);
      return body.data.map(({ message }: { message: string }) => message);
    };
    const mine = ["by address", "by id", "by role"];
    expect(await list(me.api, "assignee=me")).toEqual(mine);
    expect(await list(own.secret, `assignee=${me.id.toUpperCase()}`)).toEqual(mine);
    expect(await list(me.api, `assignee=${other.id}`)).toEqual(["by id", "by role", "by a role above"]);
    expect(await list(me.api, "may_answer=true")).toEqual([...mine, "by nothing"]);
    expect(await list(me.api, "may_answer=true&assignee=me")).toEqual(mine);
    expect(await list(me.api, "")).toEqual(Object.keys(names));
    // The user is an assignee, but has a role that may not decide.
    expect(await list(reader.api, "assignee=me")).toEqual(["by address"]);
    expect(await list(reader.api, "may_answer=true")).toEqual([]);
    expect(await list(own.secret, "may_answer=true")).toEqual(["by nothing"]);
    const ofKey = await own.secret.get("/v2/pauses?assignee=me");
    expect([ofKey.status, ofKey.body.detail[0].loc]).toEqual([422, ["query", "assignee"]]);
    // A user of another organisation matches nothing.
    expect(await list(me.api, `assignee=${ada.id}`)).toEqual([]);
    expect((await me.api.get("/v2/pauses?assignee=ada")).status).toBe(422);

    await answer(me.api, runs["by id"] ?? "");
    expect(await list(me.api, "may_answer=true")).toEqual(["by address", "by role", "by nothing"]);
    expect(await list(me.api, "assignee=me")).toEqual(mine);
  });
});

describe("a deployment", () => {
  const deploy = (assignees: unknown, more: Record<string, unknown> = {}) =>
    tenant.secret.post("/v2/projects", { name: "test", flow: asking({ assignees, ...more }) });
  const place = ["body", "flow", "nodes", approvals(asking()), "config", "assignees"];

  it("rejects assignees that the organisation does not have", async () => {
    const stranger = await person("editor", await openTenant());
    for (const name of ["nobody@example.test", stranger.id, stranger.email]) {
      const { status, body } = await deploy({ users: [ada.email, name] });
      expect(status).toBe(422);
      expect(body.detail).toMatchObject([{ loc: [...place, "users", 1], type: "unknown_user" }]);
      expect(body.detail[0].msg).toContain(name);
    }
  });

  it.each([
    ["nobody", {}, []],
    ["a role that answers nothing", { roles: ["viewer"] }, ["roles", 0]],
    ["what is neither an id nor an address", { users: ["ada"] }, ["users", 0]],
    ["too many", { users: Array.from({ length: 101 }, (_, at) => `a${at}@example.test`) }, ["users"]],
    ["other members", { users: ["a@example.test"], teams: ["x"] }, ["teams"]],
  ])("rejects %s", async (_, assignees, where) => {
    const { status, body } = await deploy(assignees);
    expect(status).toBe(422);
    expect(body.detail.map(({ loc }: { loc: unknown }) => loc)).toEqual([[...place, ...where]]);
  });

  it("rejects a quorum that its assignees cannot reach, counting a person once however named", async () => {
    const { body } = await deploy({ users: [ada.id, ada.email, bob.id] }, { required_approvals: 3 });
    expect(body.detail).toMatchObject([{ loc: [...place, "users"], type: "too_few_assignees" }]);
    expect((await deploy({ users: [ada.id, bob.id, admin.id] }, { required_approvals: 3 })).status).toBe(201);
    expect((await deploy({ users: [ada.id], roles: ["admin"] }, { required_approvals: 3 })).status).toBe(201);
  });

  it("warns of assignees who currently cannot answer", async () => {
    const locked = await person("editor");
    await admin.api.patch(`/v2/users/${locked.id}`, { disabled: true });
    const definition = asking({ assignees: { users: [viewer.id, locked.email, ada.id] } });
    const { body } = await tenant.secret.post("/v2/flows/validate", { flow: definition });
    expect(body.valid).toBe(true);
    const warned = body.problems.filter(({ code }: { code: string }) => code === "assignee_cannot_answer");
    expect(warned.map(({ path, severity }: { path: unknown[]; severity: string }) => [path.at(-1), severity])).toEqual([
      [0, "warning"],
      [1, "warning"],
    ]);
  });

  it("checks assignees of tools, and rejects them on tools without approval", async () => {
    const tool = { type: "subflow", project_id: await tenant.deploy(echo()), assignees: { users: ["x@example.test"] } };
    const deployed = (approval: boolean) =>
      tenant.secret.post("/v2/projects", {
        name: "test",
        flow: flow(
          [
            { id: "llm-0", type: "llm", config: { model: "m", prompt: "Go", tools: [{ ...tool, approval }] } },
            { id: "out-0", type: "output" },
          ],
          ["llm-0>out-0"],
        ),
      });
    const at = ["body", "flow", "nodes", 0, "config", "tools", 0, "assignees"];
    expect((await deployed(true)).body.detail).toMatchObject([{ loc: [...at, "users", 0], type: "unknown_user" }]);
    expect((await deployed(false)).body.detail).toMatchObject([{ loc: at, type: "invalid_config" }]);
  });
});
