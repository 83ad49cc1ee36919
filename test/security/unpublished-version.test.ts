import { beforeAll, expect, it } from "vitest";
import { GET_RUN } from "../../src/domain/flow/io/tool-names.ts";
import { openTenant, problemText, type ApiTenant } from "../api/tenant.ts";
import type { Answer } from "../support/client.ts";
import { echoFlow } from "../api/echo-flow.ts";

// A public key is visible in web pages, so it must not reach versions that an editor has not published.

let tenant: ApiTenant;
let flowId: string;
beforeAll(async () => {
  tenant = await openTenant();
  const { body } = await tenant.secret.post("/v2/projects", { name: "Shop", flow: echoFlow("one {{in-0}}") });
  flowId = body.project_id;
});

const inputs = { "in-0": "x" };
const address = (kind: "run" | "stream") => `/inference/v0/${kind}/${tenant.org_id}/${flowId}`;

/** Deploys a version without publishing it. */
async function draft(text: string): Promise<number> {
  const flow = echoFlow(`${text} {{in-0}}`);
  const { status, body } = await tenant.secret.post(`/v2/projects/${flowId}/versions`, { flow, publish: false });
  expect([status, body.published]).toEqual([201, false]);
  return body.version;
}

/** Expects the same 404 with the same text. */
function expectSame(answers: ReadonlyArray<Answer | undefined>): void {
  expect(answers.map((answer) => answer?.status)).toEqual([404, 404]);
  expect(new Set(answers.flatMap((answer) => (answer ? [problemText(answer)] : []))).size).toBe(1);
}

const publish = (version: number) => tenant.secret.post(`/v2/projects/${flowId}/versions/${version}/publish`);

const called = (version: number) => tenant.public.post(address("run"), inputs, { query: { version, verbose: false } });

it.each(["run", "stream"] as const)("unpublished-version: is not found by a public key with %s", async (kind) => {
  const version = await draft(`draft of ${kind}`);
  const [never, unknown] = await Promise.all(
    [version, 4711].map((each) => tenant.public.post(address(kind), inputs, { query: { version: each } })),
  );
  expect(never).toMatchObject({ status: 404, body: { code: "flow_version_not_found" } });
  expectSame([never, unknown]);
  const later = { query: { version }, headers: { prefer: "respond-async" } };
  expect((await tenant.public.post(address("run"), inputs, later)).status).toBe(404);
  const { body } = await tenant.secret.get("/v2/runs", { query: { project_id: flowId } });
  expect(body.data.filter((run: { version: number }) => run.version === version)).toEqual([]);
});

it("unpublished-version: can be run with a secret key and by a user", async () => {
  const version = await draft("for members");
  const editor = await tenant.user("editor");
  for (const member of [tenant.secret, editor]) {
    const { status, body } = await member.post(address("run"), inputs, { query: { version, verbose: false } });
    expect([status, body]).toEqual([200, { "out-0": "for members x" }]);
  }
});

it("unpublished-version: a version that was once published can be run with a public key, even after another is published", async () => {
  const version = await draft("was");
  expect((await called(version)).status).toBe(404);
  await publish(version);
  await expect.poll(async () => (await called(version)).body).toEqual({ "out-0": "was x" });
  await publish(1);
  await expect.poll(async () => (await called(-1)).body).toEqual({ "out-0": "one x" });
  expect((await called(version)).body).toEqual({ "out-0": "was x" });
});

it("unpublished-version: a draft that is published by deploying its content again can be run with a public key", async () => {
  const version = await draft("again");
  await tenant.secret.post(`/v2/projects/${flowId}/versions`, { flow: echoFlow("again {{in-0}}") });
  await publish(1);
  await expect.poll(async () => (await called(-1)).body).toEqual({ "out-0": "one x" });
  expect((await called(version)).status).toBe(200);
});

it("unpublished-version: its runs are not found by a public key, whoever started them", async () => {
  const version = await draft("tried out");
  const { body: run } = await tenant.secret.post(address("run"), inputs, { query: { version } });
  const unknown = "0197f0a0-0000-7000-8000-000000000000";
  const asked = await Promise.all(
    [run.run_id, unknown].map((run_id) => tenant.public.get(`${address("run")}/metadata`, { query: { run_id } })),
  );
  expectSame(asked);

  const told = await Promise.all(
    [run.run_id, unknown].map((run_id) =>
      tenant.public.post(`/inference/v0/feedback/${tenant.org_id}/${flowId}`, { run_id, feedback: "positive" }),
    ),
  );
  expectSame(told);

  const params = { name: GET_RUN, arguments: { run_id: run.run_id } };
  const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params };
  const { body: tool } = await tenant.public.post(`/mcp?flow_id=${flowId}`, call);
  expect(tool.result).toMatchObject({ isError: true });
  expect(JSON.stringify(tool)).not.toContain("tried out");

  const own = await tenant.secret.get(`${address("run")}/metadata`, { query: { run_id: run.run_id } });
  expect([own.status, own.body.outputs]).toEqual([200, { "out-0": "tried out x" }]);
});

it("unpublished-version: a public key cannot run it with the Idempotency-Key of a member's call", async () => {
  const version = await draft("with a key");
  for (const kind of ["run", "stream"] as const) {
    const options = { query: { version }, headers: { "Idempotency-Key": `shared-${kind}` } };
    const first = await tenant.secret.raw("POST", address(kind), inputs, options);
    expect([first.status, (await first.text()).includes("with a key x")]).toEqual([200, true]);
    expect((await tenant.public.post(address(kind), inputs, options)).status).toBe(404);
  }
});

it("unpublished-version: MCP tools and uploads use the published version", async () => {
  await publish(1);
  await draft("hidden from tools");
  const list = { jsonrpc: "2.0", id: 1, method: "tools/list" };
  const { body: listed } = await tenant.public.post(`/mcp?flow_id=${flowId}`, list);
  const call = { ...list, method: "tools/call", params: { name: listed.result.tools[0].name, arguments: inputs } };
  await expect
    .poll(async () => JSON.stringify((await tenant.public.post(`/mcp?flow_id=${flowId}`, call)).body.result))
    .toContain("one x");

  const { body: project } = await tenant.secret.post("/v2/projects", { name: "Drafts" });
  const flow = {
    schema_version: 1,
    name: "reads",
    nodes: [
      { id: "doc-0", type: "files" },
      { id: "out-0", type: "output" },
    ],
    edges: [{ source: "doc-0", target: "out-0" }],
  };
  await tenant.secret.post(`/v2/projects/${project.project_id}/versions`, { flow, publish: false });
  const form = new FormData();
  form.set("file", new Blob(["text"]), "a.txt");
  const query = { org: tenant.org_id, user_id: "ada-1", flow_id: project.project_id, node_id: "doc-0" };
  const { status, body } = await tenant.public.post("/upload_to_storage_user", form, { query });
  expect([status, body.code]).toEqual([404, "flow_version_not_found"]);
});
