import { edges, flow as flowOf, node } from "../../support/flows.ts";
import { beforeAll, describe, expect, it } from "vitest";
import { purgeFrozenDrafts } from "../../../src/stores/projects/flow-versions.ts";
import type { TestClient } from "../../support/client.ts";
import { checkedClient } from "../http/conformance.ts";
import { echoFlow } from "../echo-flow.ts";
import { asking, failing, openTenant, type ApiTenant } from "../tenant.ts";

let tenant: ApiTenant;
let editor: TestClient;
let viewer: TestClient;
let project_id: string;
beforeAll(async () => {
  tenant = await openTenant();
  [editor, viewer] = await Promise.all([tenant.user("editor"), tenant.user("viewer")]);
  project_id = await tenant.deploy(echoFlow("published {{in-0}}") as never);
  await save("drafted {{in-0}}");
});

const inputs = { "in-0": "x" };
const address = (kind: "run" | "stream" = "run"): string => `/inference/v0/${kind}/${tenant.org_id}/${project_id}`;
const versions = (): string => `/v2/projects/${project_id}/versions`;

async function save(flow: unknown, project = project_id): Promise<void> {
  const body = { flow: typeof flow === "string" ? echoFlow(flow) : flow };
  expect((await tenant.secret.put(`/v2/projects/${project}/draft`, body)).status).toBeLessThan(300);
}

const start = (who: TestClient, more: object = {}) =>
  who.post("/v2/runs", { project_id, draft: true, inputs, mode: "sync", ...more });

/** Types of the events about a run. */
const toldOf = (runId: string): Promise<string[]> =>
  tenant.withDatabase((database) =>
    database.system((db) => db.column<string>("select type from outbox where data ->> 'run_id' = $1", [runId])),
  );

describe("a run of a draft", () => {
  it("can be started with POST /v2/runs and with run_draft in the inference operations, by editors", async () => {
    for (const who of [tenant.secret, editor]) {
      const { status, body } = await start(who);
      expect([status, body.state, body.outputs]).toEqual([201, "COMPLETED", { "out-0": "drafted x" }]);
      expect(body).toMatchObject({ run_type: "draft", flow_version: expect.any(Number) });
      const called = await who.post(address(), inputs, { query: { run_draft: true, verbose: false } });
      expect([called.status, called.body]).toEqual([200, { "out-0": "drafted x" }]);
      const streamed = await who.raw("POST", address("stream"), inputs, { query: { run_draft: true } });
      expect(await streamed.text()).toContain("drafted x");
    }
    const published = await tenant.secret.post(address(), inputs, { query: { run_draft: false, verbose: false } });
    expect(published.body).toEqual({ "out-0": "published x" });
  });

  it("draft-leak: is forbidden for public keys and viewers, and hidden from public keys", async () => {
    for (const kind of ["run", "stream"] as const) {
      const answer = await tenant.public.post(address(kind), inputs, { query: { run_draft: true } });
      expect(answer).toMatchObject({ status: 403, body: { code: "forbidden" } });
    }
    expect((await tenant.public.post(address(), inputs, { query: { run_draft: false } })).status).toBe(200);
    expect((await viewer.post(address(), inputs, { query: { run_draft: true } })).status).toBe(403);
    expect((await start(viewer)).status).toBe(403);
    expect((await start(tenant.public)).status).toBe(403);
    const { body: run } = await start(editor);
    for (const who of [tenant.public, tenant.secret]) {
      const read = await who.get(`${address()}/metadata`, { query: { run_id: run.run_id } });
      expect(read.status).toBe(who === tenant.public ? 404 : 200);
      // The flow of a draft run is not a version that another run could use.
      const again = await who.post(address(), inputs, { query: { version: run.flow_version } });
      expect(again).toMatchObject({ status: 404, body: { code: "flow_version_not_found" } });
    }
    const options = { query: { run_draft: true }, headers: { "Idempotency-Key": "shared-draft" } };
    expect((await tenant.secret.post(address(), inputs, options)).status).toBe(200);
    expect((await tenant.public.post(address(), inputs, options)).status).toBe(404);
    const stranger = await openTenant();
    expect((await stranger.secret.post(address(), inputs, { query: { run_draft: true } })).status).toBe(404);
    expect((await start(stranger.secret)).status).toBe(404);
  });

  it("draft-leak: notifies no webhook, trigger or monitor", async () => {
    const { body: run } = await start(editor);
    const { body: api } = await start(editor, { draft: false });
    expect(await toldOf(api.run_id)).toEqual(["run.started", "run.completed"]);
    expect(await toldOf(run.run_id)).toEqual([]);
    const monitor = { name: "M", project_id, evaluator_ids: [], filter: { run_types: ["draft"] } };
    const { status, body } = await tenant.secret.post("/v2/evals/monitors", monitor);
    expect(status).toBe(422);
    expect(body.detail.map(({ loc }: { loc: unknown[] }) => loc.join("."))).toContain("body.filter.run_types.0");
  });

  it("keeps the flow as it was at the start, also after a pause and when it is resumed", async () => {
    const other = await tenant.deploy(echoFlow() as never);
    await save(asking(), other);
    const { body: run } = await start(editor, { project_id: other, mode: "async" });
    const { pauses } = await tenant.until(run.run_id, "PAUSED");
    await save("changed", other);
    const answer = { pause_id: pauses[0].pause_id, action: "approve" };
    expect((await editor.post(`/v2/runs/${run.run_id}/resume`, answer)).status).toBe(202);
    expect((await tenant.until(run.run_id, "COMPLETED")).outputs).toEqual({ "out-0": "yes null" });
    const { body: document } = await viewer.get(`/v2/projects/${other}/versions/${run.flow_version}`);
    expect(document.flow).toEqual(asking());

    await save(failing(), other);
    const { body: failed } = await start(editor, { project_id: other });
    expect(failed.state).toBe("FAILED");
    await save("changed again", other);
    const resumed = await editor.post(`/v2/runs/${failed.run_id}/resume`, { from: "failed" });
    expect(resumed).toMatchObject({ status: 202, body: { run_type: "draft", flow_version: failed.flow_version } });
    const deployed = await editor.post(`/v2/runs/${failed.run_id}/resume`, { from: "in-0", version: 1 });
    expect(deployed).toMatchObject({ status: 202, body: { run_type: "api", flow_version: 1 } });
  });

  it("is returned again for the same Idempotency-Key, also once its draft is deleted", async () => {
    const other = await tenant.deploy(echoFlow() as never);
    await save("once {{in-0}}", other);
    const options = { headers: { "Idempotency-Key": "once" } };
    const body = { project_id: other, draft: true, inputs, mode: "sync" };
    const first = await editor.post("/v2/runs", body, options);
    await editor.delete(`/v2/projects/${other}/draft`);
    const again = await editor.post("/v2/runs", body, options);
    expect([again.status, again.body.run_id, again.body.outputs]).toEqual([
      201,
      first.body.run_id,
      { "out-0": "once x" },
    ]);
  });

  it("does not affect versions: its flow cannot be listed, published or called as one", async () => {
    await save("kept apart {{in-0}}");
    const [one, two] = [(await start(editor)).body, (await start(editor)).body];
    expect(two.flow_version).toBe(one.flow_version);
    expect((await start(tenant.secret)).body.flow_version).not.toBe(one.flow_version);
    const { body: listed } = await editor.get(versions());
    expect(listed.data.map(({ version }: { version: number }) => version)).toEqual([1]);
    expect((await editor.post(`${versions()}/${one.flow_version}/publish`)).status).toBe(404);
    const deployed = await editor.post(versions(), { flow: echoFlow("kept apart {{in-0}}"), publish: false });
    expect(deployed).toMatchObject({ status: 201, body: { version: 2 } });
  });

  it("has the permissions of the user who started it", async () => {
    const email = `draft-${tenant.org_id}@example.test`;
    const { body: made } = await tenant.secret.post("/v2/users", {
      email,
      password: "a long enough password",
      role: "member",
    });
    await tenant.secret.put(`/v2/projects/${project_id}/members/${made.user_id}`, { role: "editor" });
    const { body: session } = await checkedClient(tenant.target).post(
      "/token",
      new URLSearchParams({ grant_type: "password", username: email, password: "a long enough password" }),
    );
    const member = checkedClient(tenant.target, session.access_token);
    const called = await tenant.deploy(echoFlow("called") as never);
    const flow = {
      ...echoFlow(),
      examples: [],
      nodes: [
        { id: "sub-0", type: "subflow", config: { project_id: called, inputs: { "in-0": "'a'" } } },
        { id: "out-0", type: "output" },
      ],
      edges: [{ source: "sub-0", target: "out-0" }],
    };
    await save(flow);
    const refused = await start(member, { inputs: {} });
    expect(refused).toMatchObject({ status: 422, body: { problems: [{ code: "unknown_project", node_id: "sub-0" }] } });
    expect(refused.body.detail[0].loc.slice(0, 2)).toEqual(["body", "draft"]);
    expect((await start(editor, { inputs: {} })).body.state).toBe("COMPLETED");
  });

  it("requires a valid draft, and rejects a version", async () => {
    const other = await tenant.deploy(echoFlow() as never);
    expect(await start(editor, { project_id: other })).toMatchObject({ status: 404, body: { code: "not_found" } });
    await save("{{ unclosed", other);
    const invalid = await start(editor, { project_id: other });
    expect([invalid.status, invalid.body.problems[0].code]).toEqual([422, "invalid_expression"]);
    const query = { run_draft: true };
    const { body } = await editor.post(`/inference/v0/run/${tenant.org_id}/${other}`, inputs, { query });
    expect(body.detail[0].loc.slice(0, 2)).toEqual(["query", "run_draft"]);
    expect((await start(editor, { version: 1 })).body.detail).toMatchObject([{ loc: ["body", "version"] }]);
  });

  it("reads files uploaded for a node that exists only in the draft", async () => {
    const other = await tenant.deploy(echoFlow() as never);
    await save(
      flowOf({ nodes: [node("doc-0", "files"), node("out-0", "output")], edges: edges("doc-0 > out-0") }),
      other,
    );
    const upload = (who: TestClient, query: object) => {
      const form = new FormData();
      form.set("file", new Blob(["drafted text"]), "a.txt");
      const whose = { org: tenant.org_id, user_id: "ada-1", flow_id: other, node_id: "doc-0" };
      return who.post("/upload_to_storage_user", form, { query: { ...whose, ...query } });
    };
    expect((await upload(editor, {})).status).toBe(422);
    expect((await upload(tenant.public, { run_draft: true })).status).toBe(403);
    expect((await upload(editor, { run_draft: true, flow_id: "no-id" })).status).toBe(404);
    expect((await upload(editor, { run_draft: true })).status).toBe(200);
    const { body } = await start(editor, { project_id: other, inputs: {}, user_id: "ada-1" });
    expect(body.outputs["out-0"].text).toContain("drafted text");
  });

  it("keeps its flow as long as its record", async () => {
    const other = await tenant.deploy(echoFlow() as never);
    await save("purged {{in-0}}", other);
    const { body: run } = await start(editor, { project_id: other });
    const left = (): Promise<unknown[]> =>
      tenant.withDatabase((database) =>
        database.system(async (db) => {
          await db.query(
            "update flow_versions set created_at = now() - interval '2 days' where project_id = $1::uuid",
            [other],
          );
          await purgeFrozenDrafts(db, 1000);
          return db.column("select version from flow_versions where project_id = $1::uuid order by version", [other]);
        }),
      );
    expect(await left()).toEqual([run.flow_version, 1]);
    await tenant.withDatabase((database) =>
      database.system((db) => db.query("delete from runs where run_id = $1::uuid", [run.run_id])),
    );
    expect(await left()).toEqual([1]);
  });
});
