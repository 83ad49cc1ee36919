import { beforeAll, describe, expect, it } from "vitest";
import { createOrganisation, service } from "../../support/service.ts";
import type { TestClient } from "../../support/client.ts";
import { checkedClient } from "../http/conformance.ts";
import { echoFlow } from "../echo-flow.ts";

describe("projects", () => {
  let mine: TestClient;
  let others: TestClient;
  beforeAll(async () => {
    const api = service();
    mine = checkedClient(api, (await createOrganisation(api)).secretKey);
    others = checkedClient(api, (await createOrganisation(api)).secretKey);
  });

  it("creates a project without a flow", async () => {
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

  it("creates a project with its flow, published", async () => {
    const { status, body } = await mine.post("/v2/projects", { name: "Echo", flow: echoFlow() });
    expect(status).toBe(201);
    expect(body).toMatchObject({ published_version: 1, latest_version: 1 });
  });

  it("creates a project with its flow unpublished when asked to", async () => {
    const { body } = await mine.post("/v2/projects", { name: "Echo", flow: echoFlow(), publish: false });
    expect(body).toMatchObject({ published_version: null, latest_version: 1 });
  });

  it("refuses a broken flow with every problem, and creates nothing", async () => {
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

  it("reports every offending member at once", async () => {
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

  it("changes name and description independently", async () => {
    const { body: project } = await mine.post("/v2/projects", { name: "A", description: "old" });
    const path = `/v2/projects/${project.project_id}`;
    expect((await mine.patch(path, { name: "B" })).body).toMatchObject({ name: "B", description: "old" });
    expect((await mine.patch(path, { description: "new" })).body).toMatchObject({ name: "B", description: "new" });
    expect((await mine.get(path)).body).toMatchObject({ name: "B", description: "new" });
  });

  it("refuses a change of something that has changed since it was read", async () => {
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

  it("lets one of many simultaneous changes of the same state win", async () => {
    const created = await mine.post("/v2/projects", { name: "A" });
    const headers = { "If-Match": created.headers.get("etag") ?? "" };
    const path = `/v2/projects/${created.body.project_id}`;
    const answers = await Promise.all([1, 2, 3, 4, 5].map((n) => mine.patch(path, { name: `B${n}` }, { headers })));
    expect(answers.map((answer) => answer.status).toSorted((a, b) => a - b)).toEqual([200, 412, 412, 412, 412]);
  });

  it("forgets a deleted project everywhere", async () => {
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

  it("keeps a project whose flow another published flow calls", async () => {
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

  it("lists all whose published flows call it", async () => {
    const called = await add(echoFlow());
    const callers = [await add(calling(called)), await add(calling(called.toUpperCase())), await add(calling(called))];
    const unpublished = await mine.post("/v2/projects", { name: "P", flow: calling(called), publish: false });
    expect(unpublished.status).toBe(201);
    // Calling oneself is not use by another.
    expect((await mine.post(`/v2/projects/${called}/versions`, { flow: calling(called) })).status).toBe(201);
    const { status, body } = await mine.delete(`/v2/projects/${called}`);
    expect([status, body.used_by.map(({ project_id }: { project_id: string }) => project_id)]).toEqual([409, callers]);
  });

  it("does not publish again what calls a deleted one", async () => {
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

  it("shows an organisation its own projects only", async () => {
    const { body: project } = await mine.post("/v2/projects", { name: "Mine" });
    const seen = await others.get("/v2/projects", { query: { page_size: 200 } });
    expect(JSON.stringify(seen.body)).not.toContain(project.project_id);
  });
});
