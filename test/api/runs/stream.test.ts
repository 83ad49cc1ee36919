import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { flow } from "../../engine/support.ts";
import { startHttpTarget, type HttpTarget } from "../../support/http-target.ts";
import { asking, echo, failing, openTenant, slow, type ApiTenant } from "../tenant.ts";
import { eventsOf, framesOf } from "./streams.ts";
import { startInProcess } from "../in-process.ts";

let tenant: ApiTenant;
let target: HttpTarget;
beforeAll(async () => {
  tenant = await openTenant();
  target = await startHttpTarget();
});
afterAll(() => target.close());
const address = (flowId: string): string => `/inference/v0/stream/${tenant.org_id}/${flowId}`;

/** A flow with two outputs and a request between them. */
const stepwise = (path: string) =>
  flow(
    [
      { id: "in-0", type: "input" },
      { id: "early", type: "output" },
      { id: "http-0", type: "http", config: { method: "GET", url: target.url + path } },
      { id: "late", type: "output", config: { value: "done" } },
    ],
    ["in-0>early", "early>http-0", "http-0>late"],
  );

describe("streaming a deployed flow", () => {
  it("returns lines with the same fields, the first immediately and the last when the run has finished", async () => {
    const release = target.hold("/held");
    const response = await tenant.public.raw("POST", `${address(await tenant.deploy(stepwise("/held")))}?delta=false`, {
      "in-0": "Ada",
      more: 1,
    });
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "application/x-ndjson"]);
    const frames: Array<Record<string, unknown>> = [];
    for await (const line of framesOf(response)) {
      const frame = JSON.parse(line);
      frames.push(frame);
      // The first output is sent while the run continues, because the run cannot complete before this release.
      if ("early" in frame.outputs) release();
    }
    for (const frame of frames) {
      expect(Object.keys(frame)).toEqual([
        "outputs",
        "citations",
        "run_id",
        "metadata",
        "progress_data",
        "state",
        "pause",
        "error",
      ]);
    }
    expect(frames.at(0)).toMatchObject({ outputs: {}, state: null, metadata: { ignored_inputs: ["more"] } });
    expect(frames).toContainEqual(expect.objectContaining({ outputs: { early: "Ada" }, state: null }));
    expect(new Set(frames.map(({ state }) => state))).toEqual(new Set([null, "COMPLETED"]));
    expect(frames.at(-1)).toMatchObject({ outputs: { early: "Ada", late: "done" }, state: "COMPLETED" });
    const address2 = response.headers.get("content-location") ?? "";
    expect((await tenant.public.get(address2)).body).toMatchObject({
      run_id: frames[0]?.["run_id"],
      state: "COMPLETED",
    });
  });

  it.each(["", "?delta=true"])("sends each output once with %j", async (query) => {
    const response = await tenant.public.raw("POST", address(await tenant.deploy(stepwise("/echo"))) + query, {
      "in-0": "Ada",
    });
    const outputs: object[] = [];
    for await (const line of framesOf(response)) outputs.push(JSON.parse(line).outputs);
    const sent = outputs.flatMap((each) => Object.entries(each));
    expect(sent).toHaveLength(2);
    expect(Object.fromEntries(sent)).toEqual({ early: "Ada", late: "done" });
  });

  it("sends each state with states=true, and the name of the current node beside its ID", async () => {
    const release = target.hold("/named");
    const definition = stepwise("/named");
    const nodes = definition.nodes.map((node) => (node.id === "http-0" ? { ...node, name: "Ask the server" } : node));
    const flowId = await tenant.deploy({ ...definition, nodes });
    const response = await tenant.public.raw("POST", `${address(flowId)}?states=true`, { "in-0": "Ada" });
    const frames: Array<{ state: string; run_id: string; progress_data: Record<string, unknown> }> = [];
    for await (const line of framesOf(response)) {
      const frame = JSON.parse(line);
      // After the request was released, the run may already be further than its frame shows.
      const isHeld = frames.every(({ progress_data }) => progress_data["current_node_id"] !== "http-0");
      frames.push(frame);
      if (!isHeld || frame.progress_data.current_node_id !== "http-0") continue;
      expect(frame).toMatchObject({ state: "RUNNING", progress_data: { current_node: "Ask the server" } });
      const { body } = await tenant.public.get(`/inference/v0/run/${tenant.org_id}/${flowId}/metadata`, {
        query: { run_id: frame.run_id },
      });
      expect(body).toMatchObject({ state: "RUNNING", progress_data: { current_node: "Ask the server" } });
      const { body: run } = await tenant.secret.get(`/v2/runs/${frame.run_id}`);
      expect(run.progress_data.current_node).toBe("http-0");
      release();
    }
    expect(frames.map(({ progress_data }) => progress_data["current_node_id"])).toContain("http-0");
    expect([frames[0]?.state, frames.at(-1)?.state]).toEqual(["PENDING", "COMPLETED"]);
    expect(frames.at(-1)?.progress_data).toMatchObject({ current_node: "late", current_node_id: "late" });
  });

  it.each([
    ["sse=true", "?sse=true", {}],
    ["Accept: text/event-stream", "", { accept: "text/event-stream" }],
    ["both", "?sse=true", { accept: "text/event-stream" }],
  ])("returns server-sent events with %s", async (_, query, headers) => {
    const response = await tenant.public.raw(
      "POST",
      address(await tenant.deploy(echo())) + query,
      { "in-0": "Ada" },
      { headers },
    );
    expect([response.status, response.headers.get("content-type"), response.headers.get("cache-control")]).toEqual([
      200,
      "text/event-stream",
      "no-store",
    ]);
    const [own, copy] = [response, response.clone()];
    const events = [];
    for await (const event of eventsOf(own)) events.push(event);
    const kinds = new Set((await copy.text()).split("\n").map((line) => line.replace(/:.*/s, "")));
    expect(kinds).toEqual(new Set(query === "" ? ["data", ""] : ["id", "data", ""]));
    expect(JSON.parse(events.at(-1)?.data ?? "")).toMatchObject({ outputs: { "out-0": "Ada" }, state: "COMPLETED" });
    expect(events.map(({ id }) => Number(id))).toEqual(events.map(({ id }) => Number(id)).toSorted((a, b) => a - b));
  });

  it("ends with the frame of a failure", async () => {
    const response = await tenant.public.raw("POST", address(await tenant.deploy(failing())), {});
    const lines = [];
    for await (const line of framesOf(response)) lines.push(line);
    expect(JSON.parse(lines.at(-1) ?? "")).toMatchObject({ state: "FAILED", error: { code: "guard_failed" } });
  });

  it.each(["", "?sse=true"])(
    "ends with the frame of a pause, and sends the rest to a later stream (%j)",
    async (query) => {
      const url = address(await tenant.deploy(asking())) + query;
      const options = { headers: { "idempotency-key": crypto.randomUUID() } };
      const last = async () => {
        const response = await tenant.public.raw("POST", url, {}, options);
        let text = "";
        if (query === "") for await (const line of framesOf(response)) text = line;
        else for await (const { data } of eventsOf(response)) text = data;
        return JSON.parse(text);
      };
      const paused = await last();
      expect(paused).toMatchObject({ state: "PAUSED", pause: { message: "Go on?", status: "waiting" } });
      await tenant.secret.post(`/v2/runs/${paused.run_id}/resume`, { action: "approve" });
      expect(await last()).toMatchObject({ run_id: paused.run_id, state: "COMPLETED" });
    },
  );

  it("ignores unknown query parameters and an empty user_id", async () => {
    const query = { prefix: "x", run_draft: false, verbose: true, user_id: "" };
    const response = await tenant.public.raw(
      "POST",
      address(await tenant.deploy(echo())),
      { "in-0": "Ada", user_id: "" },
      { query },
    );
    expect(response.status).toBe(200);
    await response.text();
  });

  it("sends an output immediately even if a parallel node that started earlier is slow", async () => {
    const release = target.hold("/beside");
    const flowId = await tenant.deploy(
      flow(
        [
          { id: "in-0", type: "input" },
          { id: "http-0", type: "http", config: { method: "GET", url: `${target.url}/beside` } },
          { id: "early", type: "output" },
          { id: "delay-0", type: "delay", config: { seconds: 0.01 } },
          { id: "later", type: "output", config: { value: "later" } },
          { id: "last", type: "output", config: { value: "{{http-0.status}}" } },
        ],
        ["in-0>http-0", "in-0>early", "in-0>delay-0", "delay-0>later", "http-0>last"],
      ),
    );
    const response = await tenant.public.raw("POST", `${address(flowId)}?delta=false`, { "in-0": "Ada" });
    let frame: { outputs: Record<string, unknown>; state?: string } = { outputs: {} };
    for await (const line of framesOf(response)) {
      frame = JSON.parse(line);
      if ("early" in frame.outputs && "later" in frame.outputs) release();
    }
    expect(frame).toMatchObject({ outputs: { early: "Ada", later: "later", last: "200" }, state: "COMPLETED" });
  });

  it("continues the run when the client disconnects, and finds it again by its Idempotency-Key", async () => {
    const flowId = await tenant.deploy(slow(1));
    const options = { headers: { "idempotency-key": crypto.randomUUID() } };
    const gone = new AbortController();
    const first = await tenant.public.raw("POST", address(flowId), {}, { ...options, signal: gone.signal });
    const frames = framesOf(first);
    const { value } = await frames.next();
    gone.abort();
    await frames.return().catch(() => undefined);
    let last = "{}";
    // Until the API notices the disconnect, the key is in use.
    await expect
      .poll(async () => {
        const again = await tenant.public.raw("POST", address(flowId), {}, options);
        for await (const line of framesOf(again)) last = line;
        return again.status;
      })
      .toBe(200);
    expect(JSON.parse(last)).toMatchObject({ run_id: JSON.parse(value ?? "{}").run_id, state: "COMPLETED" });
    expect((await tenant.secret.get("/v2/runs", { query: { project_id: flowId } })).body.data).toHaveLength(1);
  });

  it("sets Idempotent-Replayed only when the key already has a run", async () => {
    const flowId = await tenant.deploy(echo());
    const options = { headers: { "idempotency-key": crypto.randomUUID() }, query: { version: 2 } };
    const call = () => tenant.public.raw("POST", address(flowId), { "in-0": "x" }, options);
    expect((await call()).status).toBe(404);
    await tenant.secret.post(`/v2/projects/${flowId}/versions`, { flow: { ...echo(), description: "Second" } });
    const answers = [await call(), await call()];
    for (const answer of answers) await answer.text();
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(answers.map(({ headers }) => headers.get("idempotent-replayed"))).toEqual([null, "true"]);
  });

  it.each([
    ["", {}],
    ["?sse=true", {}],
    ["", { accept: "text/event-stream" }],
  ])("is kept alive by comments or empty lines (%j, %o)", async (query, headers) => {
    // No worker runs, so the run makes no progress.
    const api = await startInProcess({ env: { MILLRACE_STREAM_KEEP_ALIVE_MS: "50" } });
    const idle = await openTenant({ ...tenant.target, ...api });
    const gone = new AbortController();
    const url = `/inference/v0/stream/${idle.org_id}/${await idle.deploy(echo())}${query}`;
    const response = await idle.public.raw("POST", url, { "in-0": "x" }, { signal: gone.signal, headers });
    let text = "";
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
      text += Buffer.from(chunk).toString();
      if (text.split("\n").length > 12) break;
    }
    gone.abort();
    const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith(":"));
    expect(lines.filter((line) => line.includes('"state":null'))).toHaveLength(1);
    expect(lines).toHaveLength(query === "" ? 1 : 2);
    if (query === "") expect(text).not.toContain("\n:");
    await api.close();
  });

  it("returns an ordinary problem if no run was created", async () => {
    const flowId = await tenant.deploy(echo());
    expect((await tenant.public.post(address(flowId), {})).status).toBe(422);
    expect((await tenant.public.post(address(flowId), { "in-0": "x" }, { query: { version: 9 } })).body.code).toBe(
      "flow_version_not_found",
    );
    expect((await tenant.public.post(address(crypto.randomUUID()), { "in-0": "x" })).status).toBe(404);
    expect(
      (await tenant.public.post(`/inference/v0/stream/${crypto.randomUUID()}/${flowId}`, { "in-0": "x" })).status,
    ).toBe(404);
    const viewer = await tenant.user("viewer");
    expect((await viewer.post(address(flowId), { "in-0": "x" })).status).toBe(403);
    expect((await tenant.secret.get("/v2/runs", { query: { project_id: flowId } })).body.data).toEqual([]);
  });
});
