import { beforeAll, describe, expect, it } from "vitest";
import { flow } from "../../engine/support.ts";
import { asking, openTenant, slow, type ApiTenant } from "../tenant.ts";

type Run = { readonly run_id: string };

let tenant: ApiTenant;
let project: string;
let runs: string[];
beforeAll(async () => {
  tenant = await openTenant();
  project = await tenant.deploy(asking({ message: "Go on with {{in-0}}?" }));
  runs = [];
  for (const each of ["one", "two", "three"]) {
    const { body } = await tenant.secret.post("/v2/runs", { project_id: project, inputs: { "in-0": each } });
    runs.push(body.run_id);
    await tenant.until(body.run_id, "PAUSED");
  }
});

describe("the pauses of an organisation", () => {
  it("are listed for all runs, oldest first if requested, and can be read one by one", async () => {
    const { status, body } = await tenant.secret.get("/v2/pauses?status=waiting&order=asc&page_size=2");
    expect(status).toBe(200);
    expect(body.data.map((pause: { message: string }) => pause.message)).toEqual([
      "Go on with one?",
      "Go on with two?",
    ]);
    expect(body.data[0]).toMatchObject({ run_id: runs[0], project_id: project, status: "waiting", resolution: null });
    const next = await tenant.secret.get(`/v2/pauses?status=waiting&order=asc&page_size=2&cursor=${body.cursor}`);
    expect(next.body.data).toHaveLength(1);
    const viewer = await tenant.user("viewer");
    const one = await viewer.get(`/v2/pauses/${body.data[0].pause_id}`);
    expect(one).toMatchObject({ status: 200, body: { ...body.data[0], may_answer: false } });
  });

  it("show data and form in the order in which they were written, wherever they are returned", async () => {
    const form = {
      type: "object",
      required: ["surname", "name"],
      properties: { surname: { type: "string", title: "Surname" }, name: { type: "string" }, no: { type: "integer" } },
    };
    const own = await openTenant();
    const asks = await own.deploy(asking({ form, data: '{"street": "Mill Lane", "no": 7}' }));
    const calls = [
      { id: "flow-0", type: "subflow", config: { project_id: asks } },
      { id: "out-0", type: "output" },
    ];
    const around = await own.deploy(flow(calls, ["flow-0>out-0"]));
    const inference = `/inference/v0/run/${own.org_id}/${around}`;
    const { body: paused } = await own.public.post(inference, {});
    const [inner] = (await own.secret.get(`/v2/runs?parent_run_id=${paused.run_id}`)).body.data;
    const listed = await own.secret.get("/v2/runs");
    const waiting = await own.secret.get("/v2/pauses");
    const shown = [
      paused.pause,
      (await own.public.get(`${inference}/metadata?run_id=${paused.run_id}`)).body.pause,
      ...[paused, inner].map(({ run_id }) => listed.body.data.find((run: Run) => run.run_id === run_id).pauses[0]),
      ...(await Promise.all([paused, inner].map(async ({ run_id }) => (await own.until(run_id, "PAUSED")).pauses[0]))),
      waiting.body.data[0],
      (await own.secret.get(`/v2/pauses/${paused.pause.pause_id}`)).body,
    ];
    const written = JSON.stringify([{ street: "Mill Lane", no: 7 }, form]);
    expect(shown.map((pause) => JSON.stringify([pause.data, pause.form]))).toEqual(shown.map(() => written));
  });

  it("show how and by whom they were decided, and are then no longer listed as open", async () => {
    const editor = await tenant.user("editor");
    const [pause] = (await tenant.secret.get(`/v2/runs/${runs[1]}`)).body.pauses;
    await editor.post(`/v2/runs/${runs[1]}/resume`, { pause_id: pause.pause_id, action: "approve", comment: "fine" });
    const { body } = await tenant.secret.get("/v2/pauses?status=resolved");
    expect(body.data).toMatchObject([
      { run_id: runs[1], resolution: { action: "approve", by: expect.stringMatching(/^user:/), comment: "fine" } },
    ]);
    const open = await tenant.secret.get(`/v2/pauses?status=waiting&project_id=${project}`);
    expect(open.body.data.map((each: { run_id: string }) => each.run_id)).toEqual([runs[2], runs[0]]);
    // The pause of a terminated run is no longer open.
    await tenant.secret.post(`/v2/runs/${runs[2]}/cancel`, { mode: "terminate" });
    await tenant.until(runs[2] ?? "", "CANCELLED");
    const left = await tenant.secret.get("/v2/pauses?status=waiting");
    expect(left.body.data.map((each: { run_id: string }) => each.run_id)).toEqual([runs[0]]);
  });

  it("are hidden from other organisations and public keys", async () => {
    const { body } = await tenant.secret.get("/v2/pauses");
    const stranger = await openTenant();
    expect((await stranger.secret.get("/v2/pauses")).body.data).toEqual([]);
    expect((await stranger.secret.get(`/v2/pauses/${body.data[0].pause_id}`)).status).toBe(404);
    expect((await tenant.public.get("/v2/pauses")).status).toBe(403);
    expect((await tenant.secret.get("/v2/pauses?status=open")).status).toBe(422);
    expect((await tenant.secret.get(`/v2/pauses?cursor=${body.cursor ?? "x"}`)).status).toBe(400);
  });
});

describe("the statistics of an organisation's runs", () => {
  it("count runs by state, and summarise their durations", async () => {
    const own = await openTenant();
    const id = await own.deploy(slow(0));
    const { body: run } = await own.secret.post("/v2/runs", { project_id: id, inputs: {}, mode: "sync" });
    expect(run.state).toBe("COMPLETED");
    const open = await own.deploy(asking());
    const { body: paused } = await own.secret.post("/v2/runs", { project_id: open, inputs: {} });
    await own.until(paused.run_id, "PAUSED");
    const { status, body } = await own.secret.get("/v2/run-statistics?hours=1");
    expect(status).toBe(200);
    expect(body).toMatchObject({
      totals: { completed: 1, failed: 0, cancelled: 0, open: 1, paused: 1 },
      failure_rate: 0,
      live: [{ state: "PAUSED", runs: 1 }],
    });
    expect(body.buckets).toHaveLength(24);
    expect(body.buckets.at(-1)).toMatchObject({ completed: 1, open: 1, paused: 1 });
    expect(body.latency.p50_ms).toBeGreaterThan(0);
    // Runs from before the period do not count.
    await own.withDatabase((database) =>
      database.system((db) =>
        db.query("update runs set created_at = created_at - interval '2 hours' where org_id = $1::uuid", [own.org_id]),
      ),
    );
    const later = await own.secret.get("/v2/run-statistics?hours=1");
    expect(later.body.totals).toEqual({ completed: 0, failed: 0, cancelled: 0, open: 0, paused: 0 });
    expect(later.body.failure_rate).toBeNull();
    expect((await own.secret.get("/v2/run-statistics?hours=0")).status).toBe(422);
    expect((await own.public.get("/v2/run-statistics")).status).toBe(403);
    const stranger = await openTenant();
    expect((await stranger.secret.get("/v2/run-statistics")).body.totals.completed).toBe(0);
  });
});
