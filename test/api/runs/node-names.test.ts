import { beforeAll, describe, expect, it } from "vitest";
import { flow } from "../../engine/support.ts";
import { openTenant, type ApiTenant } from "../tenant.ts";

let tenant: ApiTenant;
beforeAll(async () => {
  tenant = await openTenant();
});

type Flow = Parameters<ApiTenant["deploy"]>[0];
type FlowNode = Parameters<typeof flow>[0][number];
const input = { id: "in-0", type: "input", config: { required: false, default: "x" } };
const output = { id: "out-0", type: "output" };
/** A flow with one node that fails, is retried, or asks for approval. */
const around = (node: FlowNode): Flow => flow([input, node, output], [`in-0>${node.id}`, `${node.id}>out-0`]);
const guard = (name: string | undefined): FlowNode => ({
  id: "guard-0",
  type: "guard",
  ...(name !== undefined && { name }),
  config: { check: "false", message: "no" },
});
const start = async (project_id: string, more: object = {}): Promise<string> =>
  (await tenant.secret.post("/v2/runs", { project_id, inputs: {}, ...more })).body.run_id;
const run = async (run_id: string) => (await tenant.secret.get(`/v2/runs/${run_id}`)).body;
const listed = async (project_id: string) => (await tenant.secret.get("/v2/runs", { query: { project_id } })).body.data;

describe("the name of a node", () => {
  it("is returned with the ID of the node that failed, as in the version that ran", async () => {
    const project = await tenant.deploy(around(guard("Is it allowed?")));
    const first = await start(project, { mode: "sync" });
    await tenant.secret.post(`/v2/projects/${project}/versions`, {
      flow: around(guard("Another name")),
      publish: true,
    });
    const second = await start(project, { mode: "sync", version: 2 });
    const third = await start(project, { mode: "sync", version: 1 });
    const names = [
      [third, "Is it allowed?"],
      [second, "Another name"],
      [first, "Is it allowed?"],
    ];
    const shown = (each: { run_id: string; error: { node_name: string } }) => [each.run_id, each.error.node_name];
    expect((await listed(project)).map(shown)).toEqual(names);
    expect([shown(await run(third)), shown(await run(second)), shown(await run(first))]).toEqual(names);
  });

  it("is null if the flow sets none", async () => {
    const project = await tenant.deploy(around(guard(undefined)));
    const { error } = await run(await start(project, { mode: "sync" }));
    expect(error).toMatchObject({ node_id: "guard-0", node_name: null });
  });

  it("is found inside maps, and is the name of the inner node", async () => {
    const ends = { nodes: [guard("Inmost"), { ...output, id: "o" }], edges: [{ source: "guard-0", target: "o" }] };
    const inner = { id: "map-1", type: "map", name: "Inner", config: { items: "[1]", flow: ends } };
    const middle = { nodes: [inner, { ...output, id: "o" }], edges: [{ source: "map-1", target: "o" }] };
    const outer = { id: "map-0", type: "map", name: "Outer", config: { items: "[1]", flow: middle } };
    const project = await tenant.deploy(around(outer));
    const { error } = await run(await start(project, { mode: "sync" }));
    expect(error).toMatchObject({ path: "map-0[0]/map-1[0]/guard-0", node_name: "Inmost" });
  });

  it("is returned with the ID of a node that is retried, and of a node that pauses", async () => {
    const retry = { max_attempts: 100, initial_interval_ms: 600_000, backoff: 1 };
    const get = { method: "GET", url: "http://127.0.0.1:9/" };
    const retried = await tenant.deploy(
      around({ id: "http-0", name: "Ask the shop", type: "http", config: get, retry }),
    );
    const run_id = await start(retried);
    await expect
      .poll(async () => (await run(run_id)).waiting_for)
      .toMatchObject({ node: "http-0", node_name: "Ask the shop" });
    expect((await listed(retried))[0].waiting_for.node_name).toBe("Ask the shop");
    await tenant.secret.post(`/v2/runs/${run_id}/cancel`);

    const ask = { id: "approval-0", type: "approval", name: "Ask a person", config: { message: "Go on?" } };
    const asking = await tenant.deploy(
      flow([input, ask, output], ["in-0>approval-0", "approval-0:approve>out-0", "approval-0:reject>out-0"]),
    );
    await tenant.until(await start(asking), "PAUSED");
    const { body } = await tenant.secret.get("/v2/pauses", { query: { project_id: asking } });
    expect(body.data).toMatchObject([{ node_id: "approval-0", node_name: "Ask a person" }]);
    const one = await tenant.secret.get(`/v2/pauses/${body.data[0].pause_id}`);
    expect(one.body.node_name).toBe("Ask a person");
  });
});
