import { beforeAll, describe, expect, it } from "vitest";
import { asking, echo, failing, openTenant, slow, type ApiTenant } from "../tenant.ts";

let tenant: ApiTenant;
let echoes: string;
let made: string[];

beforeAll(async () => {
  tenant = await openTenant();
  echoes = await tenant.deploy(echo());
  made = [];
  for (let i = 0; i < 5; i++)
    made.push(await run(echoes, { inputs: { "in-0": "x" }, tags: [`n${i}`, "all"], user_id: `u-${i % 2}` }));
});

async function run(project_id: string, more: Record<string, unknown> = {}): Promise<string> {
  const { body } = await tenant.secret.post("/v2/runs", {
    project_id,
    inputs: {},
    mode: "sync",
    wait_seconds: 15,
    ...more,
  });
  return body.run_id;
}
const list = (query: Record<string, string | number>) => tenant.secret.get("/v2/runs", { query });
const ids = async (query: Record<string, string | number>): Promise<string[]> =>
  (await list(query)).body.data.map((each: { run_id: string }) => each.run_id);

describe("listing runs", () => {
  it("shows the newest first, or the oldest with order=asc", async () => {
    expect(await ids({ project_id: echoes })).toEqual(made.toReversed());
    expect(await ids({ project_id: echoes, order: "asc" })).toEqual(made);
  });

  it("pages forward and back by cursor without repeating or omitting any", async () => {
    const first = (await list({ project_id: echoes, page_size: 2 })).body;
    expect([first.data.length, first.has_more]).toEqual([2, true]);
    const second = (await list({ project_id: echoes, page_size: 2, cursor: first.cursor })).body;
    const third = (await list({ project_id: echoes, page_size: 2, cursor: second.cursor })).body;
    const all = [first, second, third].flatMap(({ data }) => data.map((each: { run_id: string }) => each.run_id));
    expect(all).toEqual(made.toReversed());
    expect([third.has_more, third.cursor]).toEqual([false, null]);
    const back = (await list({ project_id: echoes, page_size: 2, cursor: second.cursor, direction: "prev" })).body;
    expect(back.data.map((each: { run_id: string }) => each.run_id)).toEqual(all.slice(0, 2));
  });

  it("filters by every field, and by all of them together", async () => {
    const failed = await run(await tenant.deploy(failing()));
    const paused = await run(await tenant.deploy(asking()));
    expect(await ids({ state: "FAILED" })).toEqual([failed]);
    expect(await ids({ state: "PAUSED" })).toEqual([paused]);
    expect(await ids({ tag: "n3" })).toEqual([made[3]]);
    expect(await ids({ user_id: "u-1", project_id: echoes })).toEqual([made[3], made[1]]);
    expect(await ids({ user_id: "u-1", tag: "n3", state: "COMPLETED", run_type: "api", project_id: echoes })).toEqual([
      made[3],
    ]);
    expect(await ids({ run_type: "batch" })).toEqual([]);
    expect(await ids({ parent_run_id: failed })).toEqual([]);
    const several = await tenant.secret.get("/v2/runs?state=FAILED&state=PAUSED");
    expect(several.body.data.map((each: { run_id: string }) => each.run_id)).toEqual([paused, failed]);
    expect(several.body.data[0].pauses).toMatchObject([{ status: "waiting", message: "Go on?" }]);
  });

  it("filters by run IDs of the own organisation", async () => {
    const other = await openTenant();
    const { body: theirs } = await other.secret.post("/v2/runs", {
      project_id: await other.deploy(echo()),
      inputs: { "in-0": "x" },
    });
    const named = [made[1], made[3]?.toUpperCase(), theirs.run_id, crypto.randomUUID()];
    const asked = await tenant.secret.get(`/v2/runs?${named.map((each) => `run_id=${each}`).join("&")}`);
    expect(asked.body.data.map((each: { run_id: string }) => each.run_id)).toEqual([made[3], made[1]]);
    const narrowed = await tenant.secret.get(`/v2/runs?run_id=${made[1]}&run_id=${made[3]}&tag=n3`);
    expect(narrowed.body.data.map((each: { run_id: string }) => each.run_id)).toEqual([made[3]]);
    expect((await list({ run_id: "x" })).status).toBe(422);
    const many = Array.from({ length: 101 }, () => `run_id=${made[0]}`).join("&");
    expect((await tenant.secret.get(`/v2/runs?${many}`)).status).toBe(422);
  });

  it("filters by time, both ends exclusive", async () => {
    const { data } = (await list({ project_id: echoes, order: "asc" })).body;
    const at = (index: number): string => data[index].created_at;
    expect(await ids({ project_id: echoes, created_after: at(3) })).toEqual([made[4]]);
    expect(await ids({ project_id: echoes, created_before: at(1) })).toEqual([made[0]]);
    expect(
      await ids({ project_id: echoes, created_after: "0001-01-01T00:00:00Z", created_before: "9999-12-31T23:59:59Z" }),
    ).toHaveLength(5);
  });

  it("shows child runs under their parent", async () => {
    const inner = await tenant.deploy(slow(0.05));
    const outer = await tenant.deploy({
      ...echo(),
      nodes: [
        { id: "sub-0", type: "subflow", config: { project_id: inner } },
        { id: "out-0", type: "output", config: {} },
      ],
      edges: [{ source: "sub-0", target: "out-0" }],
    } as never);
    const parent = await run(outer);
    const { data } = (await list({ parent_run_id: parent })).body;
    expect(data).toMatchObject([
      { parent_run_id: parent, run_type: "sub_workflow", ran_by_type: "system", project_id: inner },
    ]);
  });

  it.each([
    ["an unknown state", { state: "DONE" }],
    ["a time that is none", { created_after: "yesterday" }],
    ["a project that is no id", { project_id: "x" }],
    ["an empty page", { page_size: 0 }],
    ["a page of 201", { page_size: 201 }],
    ["an unknown filter", { project: "x" }],
  ])("returns 422 for %s", async (_, query) => {
    expect((await list(query as Record<string, string | number>)).status).toBe(422);
  });

  it("rejects an invalid cursor, and one of other filters", async () => {
    const { cursor } = (await list({ project_id: echoes, page_size: 1 })).body;
    expect((await list({ cursor: "AAAA" })).body.code).toBe("invalid_cursor");
    expect((await list({ cursor, state: "FAILED" })).body.code).toBe("cursor_mismatch");
    const other = await openTenant(tenant.target);
    expect((await other.secret.get("/v2/runs", { query: { project_id: echoes, cursor } })).body.code).toBe(
      "cursor_mismatch",
    );
  });

  it("shows nothing of another organisation, under any filter", async () => {
    const other = await openTenant(tenant.target);
    for (const query of [{}, { project_id: echoes }, { tag: "all" }, { user_id: "u-1" }, { state: "COMPLETED" }]) {
      const { status, body } = await other.secret.get("/v2/runs", { query });
      expect([status, body]).toEqual([200, { data: [], cursor: null, has_more: false }]);
    }
  });

  it("is allowed for secret keys and all users", async () => {
    expect((await tenant.public.get("/v2/runs")).status).toBe(403);
    expect((await (await tenant.user("viewer")).get("/v2/runs")).status).toBe(200);
  });
});
