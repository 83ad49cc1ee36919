import { beforeAll, expect, it } from "vitest";
import { edges, flow, node } from "../../support/flows.ts";
import { openTenant, type ApiTenant } from "../tenant.ts";

const NOTHING = { default_connection_id: null, default_model: null };
let mine: ApiTenant;
beforeAll(async () => {
  mine = await openTenant();
});

async function connect(provider_id: string, credential: object, scheme: string): Promise<string> {
  const { body } = await mine.secret.post("/v2/connections", { name: "it", provider_id, scheme, credential });
  return body.connection_id;
}
// No server listens at this address.
const models = () => connect("openai_compatible", { base_url: "http://127.0.0.1:9/v1" }, "none");

const asking = (config: object = {}) =>
  flow({
    nodes: [node("llm-0", "llm", { prompt: "x", ...config }), node("out-0", "output")],
    edges: edges("llm-0 > out-0"),
  });

it("the model settings can be read and changed, and an outdated ETag is rejected", async () => {
  const first = await mine.secret.get("/v2/settings");
  expect([first.status, first.body]).toEqual([200, NOTHING]);
  const etag = { headers: { "if-match": first.headers.get("etag") ?? "" } };
  const connection = await models();
  const set = await mine.secret.patch(
    "/v2/settings",
    { default_connection_id: connection, default_model: "tiny" },
    etag,
  );
  expect([set.status, set.body]).toEqual([200, { default_connection_id: connection, default_model: "tiny" }]);
  expect((await mine.secret.patch("/v2/settings", { default_model: "other" }, etag)).status).toBe(412);
  // Omitted fields stay unchanged.
  expect((await mine.secret.patch("/v2/settings", { default_model: null })).body).toEqual({
    ...set.body,
    default_model: null,
  });
  expect((await mine.secret.get("/v2/settings")).body.default_connection_id).toBe(connection);
  // Deleting a connection also clears it as the default.
  expect((await mine.secret.delete(`/v2/connections/${connection}`)).status).toBe(204);
  expect((await mine.secret.get("/v2/settings")).body).toEqual(NOTHING);
});

it("the model settings accept only model connections, and only admins change them", async () => {
  const other = await connect("http", { base_url: "http://127.0.0.1:9", token: "t" }, "bearer");
  const wrong = await mine.secret.patch("/v2/settings", { default_connection_id: other });
  expect([wrong.status, wrong.body.detail[0].loc]).toEqual([422, ["body", "default_connection_id"]]);
  const unknown = await mine.secret.patch("/v2/settings", {
    default_connection_id: "0197f0a0-0000-7000-8000-000000000000",
  });
  expect(unknown.status).toBe(404);
  const editor = await mine.user("editor");
  expect((await editor.patch("/v2/settings", { default_model: "x" })).status).toBe(403);
  expect((await editor.get("/v2/settings")).status).toBe(200);
  expect((await mine.public.get("/v2/settings")).status).toBe(403);
});

it("a flow that calls a model gets a warning if the settings name no model", async () => {
  const validate = async (definition: unknown) =>
    (await mine.secret.post("/v2/flows/validate", { flow: definition })).body;
  const { valid, problems } = await validate(asking());
  expect(valid).toBe(true);
  expect(problems).toEqual([
    expect.objectContaining({ code: "model_not_configured", severity: "warning", node_id: "llm-0" }),
  ]);
  expect(problems[0].hint).toContain("PATCH /v2/settings");
  const connection_id = await models();
  expect((await validate(asking({ connection_id }))).problems).toHaveLength(1);
  expect((await validate(asking({ connection_id, model: "tiny" }))).problems).toEqual([]);
});

it("a connection that a published flow uses cannot be deleted, and an unknown one is an error", async () => {
  const connection_id = await models();
  const gone = await mine.secret.post("/v2/flows/validate", {
    flow: asking({ model: "m", connection_id: "0197f0a0-0000-7000-8000-000000000000" }),
  });
  expect(gone.body.problems[0]).toMatchObject({ code: "unknown_connection", severity: "error" });
  const project = await mine.deploy(asking({ model: "m", connection_id }));
  const refused = await mine.secret.delete(`/v2/connections/${connection_id}`);
  expect([refused.status, refused.body.code]).toEqual([409, "in_use"]);
  expect((await mine.secret.delete(`/v2/projects/${project}`)).status).toBe(204);
  expect((await mine.secret.delete(`/v2/connections/${connection_id}`)).status).toBe(204);
});
