import { beforeAll, describe, expect, it } from "vitest";
import { createOrganisation, service } from "../../support/service.ts";
import type { TestClient } from "../../support/client.ts";
import { checkedClient } from "../http/conformance.ts";
import { echoFlow } from "../echo-flow.ts";
import { openTenant } from "../tenant.ts";

describe("projects", () => {
  let mine: TestClient;
  let others: TestClient;
  beforeAll(async () => {
    const api = service();
    mine = checkedClient(api, (await createOrganisation(api)).secretKey);
    others = checkedClient(api, (await createOrganisation(api)).secretKey);
  });

  it("are created without a flow", async () => {
    const created = await mine.post("/v2/projects", { name: "  Greeter " });
    expect(created.status).toBe(201);
    expect(created.body).toMatchObject({
      name: "Greeter",
      description: "",
      published_version: null,
      latest_version: 0,
    });
    expect(created.headers.get("location")).toBe(`/v2/projects/${created.body.project_id}`);
    expect(await mine.get(created.headers.get("location") ?? "")).toMatchObject({ status: 200, body: created.body });
  });

  it("are created with a flow, which is published", async () => {
    const { status, body } = await mine.post("/v2/projects", { name: "Echo", flow: echoFlow() });
    expect(status).toBe(201);
    expect(body).toMatchObject({ published_version: 1, latest_version: 1 });
  });

  it("are created with an unpublished flow if requested", async () => {
    const { body } = await mine.post("/v2/projects", { name: "Echo", flow: echoFlow(), publish: false });
    expect(body).toMatchObject({ published_version: null, latest_version: 1 });
  });

  it("are not created with an invalid flow, whose problems are all reported", async () => {
    const before = (await mine.get("/v2/projects", { query: { page_size: 200 } })).body.data.length;
    const flow = {
      ...echoFlow(),
      edges: [
        { source: "in-0", target: "nowhere" },
        { source: "gone", target: "out-0" },
      ],
    };
    const { status, body } = await mine.post("/v2/projects", { name: "Broken", flow });
    expect(status).toBe(422);
    expect(body.detail).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ loc: ["body", "flow", "edges", 0, "target"], type: "unknown_node" }),
        expect.objectContaining({ loc: ["body", "flow", "edges", 1, "source"], type: "unknown_node" }),
      ]),
    );
    expect(body.problems).toEqual(
      expect.arrayContaining([expect.objectContaining({ code: "unknown_node", severity: "error" })]),
    );
    expect((await mine.get("/v2/projects", { query: { page_size: 200 } })).body.data).toHaveLength(before);
  });

  it("report all invalid fields together", async () => {
    const { status, body } = await mine.post("/v2/projects", {
      name: 7,
      description: "x".repeat(10_001),
      publish: "yes",
      extra: 1,
    });
    expect(status).toBe(422);
    expect(body.detail.map((issue: { loc: unknown; type: string }) => [issue.loc, issue.type])).toEqual([
      [["body", "name"], "string_type"],
      [["body", "description"], "string_too_long"],
      [["body", "publish"], "bool_type"],
      [["body", "extra"], "extra_forbidden"],
    ]);
  });

  it("can be renamed and described independently", async () => {
    const { body: project } = await mine.post("/v2/projects", { name: "A", description: "old" });
    const path = `/v2/projects/${project.project_id}`;
    expect((await mine.patch(path, { name: "B" })).body).toMatchObject({ name: "B", description: "old" });
    expect((await mine.patch(path, { description: "new" })).body).toMatchObject({ name: "B", description: "new" });
    expect((await mine.get(path)).body).toMatchObject({ name: "B", description: "new" });
  });

  it("reject a change with an outdated ETag", async () => {
    const created = await mine.post("/v2/projects", { name: "A" });
    const path = `/v2/projects/${created.body.project_id}`;
    const etag = created.headers.get("etag") ?? "";
    expect((await mine.get(path)).headers.get("etag")).toBe(etag);
    const first = await mine.patch(path, { name: "B" }, { headers: { "If-Match": etag } });
    expect(first.status).toBe(200);
    const second = await mine.patch(path, { name: "C" }, { headers: { "If-Match": etag } });
    expect(second).toMatchObject({ status: 412, body: { code: "precondition_failed" } });
    expect(
      (await mine.patch(path, { name: "D" }, { headers: { "If-Match": first.headers.get("etag") ?? "" } })).status,
    ).toBe(200);
    expect((await mine.patch(path, { name: "E" }, { headers: { "If-Match": "*" } })).status).toBe(200);
  });

  it("accept only one of many simultaneous changes with the same ETag", async () => {
    const created = await mine.post("/v2/projects", { name: "A" });
    const headers = { "If-Match": created.headers.get("etag") ?? "" };
    const path = `/v2/projects/${created.body.project_id}`;
    const answers = await Promise.all([1, 2, 3, 4, 5].map((n) => mine.patch(path, { name: `B${n}` }, { headers })));
    expect(answers.map((answer) => answer.status).toSorted((a, b) => a - b)).toEqual([200, 412, 412, 412, 412]);
  });

  it("are not found anywhere after they are deleted", async () => {
    const { body: project } = await mine.post("/v2/projects", { name: "A", flow: echoFlow() });
    const path = `/v2/projects/${project.project_id}`;
    expect((await mine.delete(path)).status).toBe(204);
    const answers = await Promise.all([
      mine.get(path),
      mine.patch(path, { name: "B" }),
      mine.delete(path),
      mine.get(`${path}/versions`),
      mine.get(`${path}/versions/1`),
      mine.post(`${path}/versions`, { flow: echoFlow() }),
      mine.post(`${path}/versions/1/publish`),
      mine.get(`${path}/io-schema`),
      mine.get(`${path}/snippets`),
    ]);
    expect(answers.map((answer) => answer.status)).toEqual(answers.map(() => 404));
    const { body } = await mine.get("/v2/projects", { query: { page_size: 200 } });
    expect(body.data.map((each: { project_id: string }) => each.project_id)).not.toContain(project.project_id);
  });

  it("cannot be deleted while another published flow calls them", async () => {
    const { body: called } = await mine.post("/v2/projects", { name: "Called", flow: echoFlow() });
    const flow = {
      schema_version: 1,
      name: "Caller",
      nodes: [
        { id: "sub-0", type: "subflow", config: { project_id: called.project_id } },
        { id: "out-0", type: "output" },
      ],
      edges: [{ source: "sub-0", target: "out-0" }],
    };
    const { body: caller, status } = await mine.post("/v2/projects", { name: "Caller", flow });
    expect(status).toBe(201);
    const refused = await mine.delete(`/v2/projects/${called.project_id}`);
    expect(refused).toMatchObject({
      status: 409,
      body: { code: "in_use", used_by: [{ project_id: caller.project_id }] },
    });
    expect((await mine.delete(`/v2/projects/${caller.project_id}`)).status).toBe(204);
    expect((await mine.delete(`/v2/projects/${called.project_id}`)).status).toBe(204);
  });

  const calling = (project_id: string) => ({
    schema_version: 1,
    name: "Caller",
    nodes: [
      { id: "sub-0", type: "subflow", config: { project_id } },
      { id: "out-0", type: "output" },
    ],
    edges: [{ source: "sub-0", target: "out-0" }],
  });
  const add = async (flow: unknown) => (await mine.post("/v2/projects", { name: "P", flow })).body.project_id as string;

  it("list all projects whose published flows call them", async () => {
    const called = await add(echoFlow());
    const callers = [await add(calling(called)), await add(calling(called.toUpperCase())), await add(calling(called))];
    const unpublished = await mine.post("/v2/projects", { name: "P", flow: calling(called), publish: false });
    expect(unpublished.status).toBe(201);
    // A flow that calls itself does not count as used by another project.
    expect((await mine.post(`/v2/projects/${called}/versions`, { flow: calling(called) })).status).toBe(201);
    const { status, body } = await mine.delete(`/v2/projects/${called}`);
    expect([status, body.used_by.map(({ project_id }: { project_id: string }) => project_id)]).toEqual([409, callers]);
  });

  it("cannot publish a version that calls a deleted project", async () => {
    const called = await add(echoFlow());
    const versions = `/v2/projects/${await add(calling(called))}/versions`;
    expect((await mine.post(versions, { flow: echoFlow() })).status).toBe(201);
    expect((await mine.delete(`/v2/projects/${called}`)).status).toBe(204);
    const rolledBack = await mine.post(`${versions}/1/publish`);
    expect([rolledBack.status, rolledBack.body]).toMatchObject([
      409,
      { code: "conflict", detail: expect.stringContaining("sub-0") },
    ]);
    const deployed = await mine.post(versions, { flow: calling(called) });
    expect([deployed.status, deployed.body.problems]).toMatchObject([422, [{ code: "unknown_project" }]]);
  });

  it("are shown only to their own organisation", async () => {
    const { body: project } = await mine.post("/v2/projects", { name: "Mine" });
    const seen = await others.get("/v2/projects", { query: { page_size: 200 } });
    expect(JSON.stringify(seen.body)).not.toContain(project.project_id);
  });
});

describe("the activity of projects", () => {
  interface Listed {
    readonly project_id: string;
    readonly activity?: {
      readonly last_run: { readonly run_id: string } | null;
      readonly days: ReadonlyArray<{ readonly start: string; readonly runs: number; readonly failed: number }>;
    };
  }
  const failingFlow = () => ({
    ...echoFlow(),
    nodes: [
      { id: "in-0", type: "input" },
      { id: "out-0", type: "output" },
      { id: "guard-0", type: "guard", config: { check: "false", message: "No" } },
    ],
    edges: [
      { source: "in-0", target: "guard-0" },
      { source: "guard-0", target: "out-0" },
    ],
  });

  it("is listed with their draft, their last run, their runs a day and who created them", async () => {
    const tenant = await openTenant();
    const [editor, member] = await Promise.all([tenant.user("editor"), tenant.user("member")]);
    const { body: idle } = await editor.post("/v2/projects", { name: "Idle" });
    const { body: busy } = await tenant.secret.post("/v2/projects", { name: "Busy", flow: failingFlow() });
    await editor.put(`/v2/projects/${busy.project_id}/draft`, { flow: echoFlow() });
    const start = async (): Promise<string> =>
      (await tenant.secret.post("/v2/runs", { project_id: busy.project_id, inputs: { "in-0": "x" }, mode: "sync" }))
        .body.run_id;
    const runs = [await start(), await start(), await start()];
    const read = async (client: typeof editor, query: Record<string, string> = { expand: "activity" }) =>
      (await client.get("/v2/projects", { query })).body.data as Listed[];
    const [first, second] = await read(editor);
    expect([first?.project_id, second?.project_id]).toEqual([busy.project_id, idle.project_id]);
    expect(first?.activity).toMatchObject({
      created_by_name: expect.any(String),
      draft: { revision: 1, changed_by_name: expect.stringMatching(/^editor-/) },
      last_run: { run_id: runs[2], state: "FAILED", run_type: "api", finished_at: expect.any(String) },
    });
    expect(first?.activity?.days).toHaveLength(14);
    expect(first?.activity?.days.at(-1)).toMatchObject({ runs: 3, failed: 3 });
    expect(first?.activity?.days.slice(0, -1).every(({ runs: count }) => count === 0)).toBe(true);
    expect(second?.activity).toMatchObject({
      created_by_name: expect.stringMatching(/^editor-/),
      draft: null,
      last_run: null,
    });
    // Deploying the draft ends it.
    const deployed = await editor.post(`/v2/projects/${busy.project_id}/versions`, { draft: true });
    expect(deployed.body.created_by_name).toMatch(/^editor-/);
    expect((await read(editor))[0]?.activity).toMatchObject({ draft: null });
    expect((await read(editor, {})).map(({ activity }) => activity)).toEqual([undefined, undefined]);

    const { body: me } = await member.get("/v2/me");
    const role = { role: "viewer" };
    expect((await tenant.secret.put(`/v2/projects/${idle.project_id}/members/${me.id}`, role)).status).toBeLessThan(
      300,
    );
    expect((await read(member)).map(({ project_id }) => project_id)).toEqual([idle.project_id]);

    const bad = await editor.get("/v2/projects", { query: { expand: "runs" } });
    expect(bad).toMatchObject({ status: 422, body: { detail: [{ loc: ["query", "expand"] }] } });
    expect((await checkedClient(tenant.target, "").get("/v2/projects", { query: { expand: "activity" } })).status).toBe(
      401,
    );
    const other = await openTenant();
    expect(await read(other.secret)).toEqual([]);
  });

  it("includes, for one project, the published flows that call it and that the caller can see", async () => {
    const tenant = await openTenant();
    const member = await tenant.user("member");
    const make = async (flow: unknown) =>
      (await tenant.secret.post("/v2/projects", { name: "P", flow })).body.project_id as string;
    const called = await make(echoFlow());
    const callers = [0, 1].map(() => ({
      schema_version: 1,
      name: "Caller",
      nodes: [
        { id: "sub-0", type: "subflow", config: { project_id: called } },
        { id: "out-0", type: "output" },
      ],
      edges: [{ source: "sub-0", target: "out-0" }],
    }));
    const [one, two] = [await make(callers[0]), await make(callers[1])];
    const users = async (client: typeof member, expand: string | undefined = "used_by") =>
      (await client.get(`/v2/projects/${called}`, { query: expand === "" ? {} : { expand } })).body.used_by;
    expect(await users(tenant.secret)).toEqual([
      { project_id: one, name: "P" },
      { project_id: two, name: "P" },
    ]);
    expect(await users(tenant.secret, "")).toBeUndefined();
    const { body: me } = await member.get("/v2/me");
    for (const project of [called, two])
      await tenant.secret.put(`/v2/projects/${project}/members/${me.id}`, { role: "viewer" });
    expect(await users(member)).toEqual([{ project_id: two, name: "P" }]);
    expect((await member.get(`/v2/projects/${one}`, { query: { expand: "used_by" } })).status).toBe(404);
    const wrong = await tenant.secret.get(`/v2/projects/${called}`, { query: { expand: "activity" } });
    expect(wrong.status).toBe(422);
  });
});
