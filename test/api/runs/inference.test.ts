import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { flow, nested } from "../../engine/support.ts";
import { startHttpTarget, type HttpTarget } from "../../support/http-target.ts";
import { rawRequest } from "../http/raw-request.ts";
import { asking, echo, failing, openTenant, problemText, slow, type ApiTenant } from "../tenant.ts";

let tenant: ApiTenant;
let echoFlow: string;
let slowFlow: string;
let target: HttpTarget;

beforeAll(async () => {
  tenant = await openTenant();
  target = await startHttpTarget();
  echoFlow = await tenant.deploy(echo());
  slowFlow = await tenant.deploy(slow(1.5));
});
afterAll(() => target.close());

const address = (flowId: string, org = tenant.org_id): string => `/inference/v0/run/${org}/${flowId}`;
const UNKNOWN = "0197f0a0-0000-7000-8000-000000000000";

describe("running a deployed flow", () => {
  it("always returns the same fields", async () => {
    const { status, body } = await tenant.public.post(address(echoFlow), {
      "in-0": "Ada",
      extra: 1,
      user_id: "ada-1",
      stream: true,
    });
    expect(status).toBe(200);
    expect(Object.keys(body).toSorted()).toEqual(
      ["citations", "error", "metadata", "outputs", "pause", "progress_data", "run_id", "state"].toSorted(),
    );
    expect(body).toMatchObject({
      outputs: { "out-0": "Ada" },
      citations: [],
      state: "COMPLETED",
      pause: null,
      error: null,
      metadata: { flow_version: 1, ignored_inputs: ["extra"], usage: { total_tokens: 0 } },
      progress_data: { total_nodes: 2, completed_nodes: 2 },
    });
    expect(body.metadata.latency_ms).toBeGreaterThanOrEqual(0);
    const run = await tenant.secret.get(`/v2/runs/${body.run_id}`);
    expect(run.body).toMatchObject({
      run_type: "api",
      ran_by_type: "org_api_key",
      user_id: "ada-1",
      state: "COMPLETED",
    });
  });

  it("ignores unknown query parameters and an empty user_id", async () => {
    const query = { prefix: "x", run_draft: false, user_id: "", verbose: true };
    const { status, body } = await tenant.public.post(address(echoFlow), { "in-0": "Ada", user_id: "" }, { query });
    expect([status, body.outputs, body.metadata.ignored_inputs]).toEqual([200, { "out-0": "Ada" }, []]);
    expect((await tenant.secret.get(`/v2/runs/${body.run_id}`)).body.user_id).toBe(null);
    const path = `${address(echoFlow)}/metadata`;
    expect((await tenant.public.get(path, { query: { ...query, run_id: body.run_id } })).status).toBe(200);
  });

  it("accepts IDs in upper and lower case", async () => {
    const path = `/inference/v0/run/${tenant.org_id.toUpperCase()}/${echoFlow.toUpperCase()}`;
    const { status, body } = await tenant.public.post(path, { "in-0": "Ada" });
    expect([status, body.outputs]).toEqual([200, { "out-0": "Ada" }]);
    const metadata = await tenant.public.get(`${path}/metadata`, { query: { run_id: body.run_id.toUpperCase() } });
    expect([metadata.status, metadata.body.run_id]).toEqual([200, body.run_id]);
  });

  it("returns only the outputs with verbose=false", async () => {
    const { status, body } = await tenant.public.post(
      address(echoFlow),
      { "in-0": "Ada" },
      { query: { verbose: false } },
    );
    expect([status, body]).toEqual([200, { "out-0": "Ada" }]);
  });

  it("double-render, proto-pollution: passes inputs on as data, regardless of their content", async () => {
    for (const text of ["{{7*7}}", "${{7*7}}", "{% include 'package.json' %}", "__proto__", "\u2028"]) {
      const { body } = await tenant.public.post(address(echoFlow), { "in-0": text }, { query: { verbose: false } });
      expect(body).toEqual({ "out-0": text });
    }
    const headers = { "content-type": "application/json" };
    for (const name of ["__proto__", String.raw`\u005f_proto__`]) {
      const hostile = `{"in-0": "Ada", "${name}": {"user_id": "eve-1", "x": 1}, "constructor": {"prototype": 1}, "zz": 1}`;
      const { status, body } = await tenant.public.post(address(echoFlow), hostile, { headers });
      expect([status, body.outputs]).toEqual([200, { "out-0": "Ada" }]);
      expect(body.metadata.ignored_inputs.toSorted()).toEqual(["__proto__", "constructor", "zz"]);
      const run = await tenant.secret.get(`/v2/runs/${body.run_id}`);
      expect(run.body.user_id).toBeNull();
    }
  });

  it("runs the requested version, and the published one by default", async () => {
    const flowId = await tenant.deploy(flow([{ id: "out-0", type: "output", config: { value: "one" } }], []));
    const second = flow([{ id: "out-0", type: "output", config: { value: "two" } }], []);
    await tenant.secret.post(`/v2/projects/${flowId}/versions`, { flow: second });
    const run = async (version?: number) =>
      (await tenant.public.post(address(flowId), {}, { query: { version } })).body;
    expect((await run()).outputs).toEqual({ "out-0": "two" });
    expect((await run(-1)).outputs).toEqual({ "out-0": "two" });
    expect((await run(1)).outputs).toEqual({ "out-0": "one" });
    expect((await run(3)).code).toBe("flow_version_not_found");
    expect((await run(0)).code).toBe("flow_version_not_found");
  });

  it("is allowed for an editor, and forbidden for a viewer", async () => {
    const editor = await tenant.user("editor");
    const { body } = await editor.post(address(echoFlow), { "in-0": "x" });
    expect(body.state).toBe("COMPLETED");
    expect((await tenant.secret.get(`/v2/runs/${body.run_id}`)).body.ran_by_type).toBe("user");
    const viewer = await tenant.user("viewer");
    expect((await viewer.post(address(echoFlow), { "in-0": "x" })).status).toBe(403);
  });

  it("continues when the client disconnects", async () => {
    const flowId = await tenant.deploy(slow(4));
    const key = crypto.randomUUID();
    const gone = new AbortController();
    const call = tenant.public.raw(
      "POST",
      address(flowId),
      {},
      { headers: { "idempotency-key": key }, signal: gone.signal },
    );
    const runs = async () => (await tenant.secret.get("/v2/runs", { query: { project_id: flowId } })).body.data;
    await expect.poll(runs).toHaveLength(1);
    gone.abort();
    await expect(call).rejects.toThrow();
    // Once the API notices the disconnect it releases the key; the next call then waits for the same run.
    const again = () => tenant.public.post(address(flowId), {}, { headers: { "idempotency-key": key } });
    await expect.poll(async () => (await again()).status).toBe(200);
    expect((await again()).body.state).toBe("COMPLETED");
    expect(await runs()).toHaveLength(1);
  });
});

describe("an invalid call", () => {
  it("returns 422 with every invalid input", async () => {
    const flowId = await tenant.deploy(
      flow(
        [
          { id: "in-0", type: "input", config: { max_length: 3 } },
          { id: "url-0", type: "url" },
          { id: "s", type: "string" },
          { id: "out-0", type: "output" },
        ],
        ["in-0>out-0", "url-0>out-0", "s>out-0"],
      ),
    );
    const { status, body } = await tenant.public.post(address(flowId), {
      "in-0": "long",
      "url-0": "file:///etc/passwd",
    });
    expect(status).toBe(422);
    expect(body.detail.map((issue: { loc: string[] }) => issue.loc)).toEqual([
      ["body", "in-0"],
      ["body", "url-0"],
      ["body", "s"],
    ]);
  });

  it.each([
    ["a version that is no number", { query: { version: "one" } }, ["query", "version"]],
    ["verbose that is neither true nor false", { query: { verbose: "maybe" } }, ["query", "verbose"]],
  ])("returns 422 for %s", async (_, options, loc) => {
    const { status, body } = await tenant.public.post(address(echoFlow), { "in-0": "x" }, options);
    expect([status, body.code, body.detail[0].loc]).toEqual([422, "validation_error", loc]);
  });

  it.each([
    ["no body", undefined, ["body"]],
    ["a list", [], ["body"]],
    ["text", '"x"', ["body"]],
    ["a user_id that is no text", { "in-0": "x", user_id: 7 }, ["body", "user_id"]],
    ["a user_id with control characters", { "in-0": "x", user_id: "a\tb" }, ["body", "user_id"]],
    ["a user_id of 257 characters", { "in-0": "x", user_id: "u".repeat(257) }, ["body", "user_id"]],
  ])("returns 422 for %s", async (_, given, loc) => {
    const headers = { "content-type": "application/json" };
    const { status, body } = await tenant.public.post(address(echoFlow), given, { headers });
    expect([status, body.detail?.[0].loc]).toEqual([422, loc]);
  });

  it("cross-tenant: returns the same 404 for an unknown flow, another organisation's flow and another organisation's URL", async () => {
    const other = await openTenant(tenant.target);
    const theirs = await other.deploy(echo());
    const answers = await Promise.all([
      tenant.public.post(address(UNKNOWN), { "in-0": "x" }),
      tenant.public.post(address(theirs), { "in-0": "x" }),
      tenant.public.post(address(theirs, other.org_id), { "in-0": "x" }),
      tenant.public.post(address(echoFlow, other.org_id), { "in-0": "x" }),
    ]);
    expect(answers.map((answer) => answer.status)).toEqual(Array(4).fill(404));
    expect(new Set(answers.map(problemText)).size).toBe(1);
    expect((await other.secret.get("/v2/runs")).body.data).toEqual([]);
  });

  it.each([
    ["run", "flow_id", (id: string) => `/inference/v0/run/${tenant.org_id}/${id}`],
    ["run", "org_id", (id: string) => `/inference/v0/run/${id}/${echoFlow}`],
    ["stream", "flow_id", (id: string) => `/inference/v0/stream/${tenant.org_id}/${id}`],
    ["stream", "org_id", (id: string) => `/inference/v0/stream/${id}/${echoFlow}`],
  ])("returns 422 with a location in the path for a malformed ID (%s, %s)", async (_, name, pathOf) => {
    for (const id of ["no-uuid", "1", `${UNKNOWN}0`, "a%20b"]) {
      const { status, body } = await tenant.public.post(pathOf(id), { "in-0": "x" });
      expect([status, body.detail[0].loc]).toEqual([422, ["path", name]]);
    }
    expect((await tenant.public.get(`${address("no-uuid")}/metadata?run_id=${UNKNOWN}`)).status).toBe(422);
  });

  it("returns 401 without a credential, 405 for another method and 415 for another content type", async () => {
    const path = address(echoFlow);
    const anonymous = await rawRequest(tenant.target, {
      method: "POST",
      path,
      headers: { "content-type": "application/json" },
      body: ["{}"],
    });
    expect([anonymous.status, anonymous.headers["www-authenticate"]]).toEqual([401, expect.stringContaining("Bearer")]);
    expect((await tenant.public.get(path)).status).toBe(405);
    const form = await tenant.public.post(path, "in-0=x", {
      headers: { "content-type": "application/x-www-form-urlencoded" },
    });
    expect(form.status).toBe(415);
  });
});

describe("a run that does not complete", () => {
  it("that fails returns 500 with its ID, state, error and the outputs so far", async () => {
    const flowId = await tenant.deploy(failing());
    const { status, body, headers } = await tenant.public.post(address(flowId), {});
    expect(status).toBe(500);
    expect(headers.get("content-type")).toBe("application/problem+json");
    expect(body).toMatchObject({
      code: "run_failed",
      state: "FAILED",
      error: { code: "guard_failed", message: expect.stringContaining("not allowed"), node_id: "guard-0" },
      outputs: { first: "first x" },
    });
    expect((await tenant.secret.get(`/v2/runs/${body.run_id}`)).body).toMatchObject({ state: "FAILED" });
  });

  it("that fails because of an upstream service returns 502", async () => {
    const flowId = await tenant.deploy(
      flow(
        [
          {
            id: "http-0",
            type: "http",
            config: { method: "GET", url: `${target.url}/status?code=500` },
            retry: { max_attempts: 1 },
          },
          { id: "out-0", type: "output" },
        ],
        ["http-0>out-0"],
      ),
    );
    const { status, body } = await tenant.public.post(address(flowId), {});
    expect([status, body.code, body.error.node_id]).toEqual([502, "upstream_failed", "http-0"]);
  });

  it("that fails because of a service that does not speak HTTP returns 502, after one call", async () => {
    target.on("/ssh", (_request, _response, socket) => void socket.end("SSH-2.0-OpenSSH_9\r\n"));
    const flowId = await tenant.deploy(
      flow(
        [
          {
            id: "http-0",
            type: "http",
            config: { method: "POST", url: `${target.url}/ssh`, body: "x" },
            retry: { max_attempts: 1 },
          },
          { id: "out-0", type: "output" },
        ],
        ["http-0>out-0"],
      ),
    );
    const { status, body } = await tenant.public.post(address(flowId), {});
    expect([status, body.code, body.error.code]).toEqual([502, "upstream_failed", "http_failed"]);
    expect(target.hits("/ssh")).toBe(1);
  });

  it.each([
    ["in circles", "/loop"],
    ["to an address that is refused", "/redirect?to=http%3A%2F%2F169.254.169.254%2F"],
    ["to what is no address", "/redirect?to=file%3A%2F%2F%2Fetc%2Fpasswd"],
  ])(
    "that fails because a service redirects %s returns 502, or 500 if the flow itself names such a URL",
    async (_, path) => {
      const fetching = (url: string) =>
        flow(
          [
            { id: "http-0", type: "http", config: { method: "GET", url } },
            { id: "out-0", type: "output" },
          ],
          ["http-0>out-0"],
        );
      const led = await tenant.public.post(address(await tenant.deploy(fetching(target.url + path))), {});
      expect([led.status, led.body.code, led.body.error.code]).toEqual([502, "upstream_failed", "http_refused"]);
      const named = await tenant.public.post(address(await tenant.deploy(fetching("http://169.254.169.254/"))), {});
      expect([named.status, named.body.code, named.body.error.code]).toEqual([500, "run_failed", "http_refused"]);
    },
  );

  it("that times out returns 504", async () => {
    const flowId = await tenant.deploy({ ...slow(60), settings: { timeout_seconds: 1 } });
    const { status, body } = await tenant.public.post(address(flowId), {});
    expect([status, body.code, body.error.code]).toEqual([504, "run_timeout", "run_timeout"]);
  });

  it("that is cancelled in the meantime returns 409 with its ID", async () => {
    const flowId = await tenant.deploy(slow(60));
    const call = tenant.public.post(address(flowId), {});
    await expect
      .poll(async () => (await tenant.secret.get("/v2/runs", { query: { project_id: flowId } })).body.data.length)
      .toBe(1);
    const [run] = (await tenant.secret.get("/v2/runs", { query: { project_id: flowId } })).body.data;
    await tenant.secret.post(`/v2/runs/${run.run_id}/cancel`, { reason: "enough" });
    const { status, body } = await call;
    expect([status, body.code, body.run_id, body.state]).toEqual([409, "run_cancelled", run.run_id, "CANCELLED"]);
    expect(body.detail).toBe("enough");
  });

  it("that pauses returns 200 with the pause, also with verbose=false", async () => {
    const flowId = await tenant.deploy(asking());
    for (const verbose of [true, false]) {
      const { status, body } = await tenant.public.post(address(flowId), {}, { query: { verbose } });
      expect([status, body.state, body.pause?.message, body.pause?.status]).toEqual([
        200,
        "PAUSED",
        "Go on?",
        "waiting",
      ]);
    }
  });

  it("that has several open pauses returns all of them by position in the flow, the first as `pause`", async () => {
    const inner = nested(
      [
        // Later items of the map pause first.
        {
          id: "delay-0",
          type: "delay",
          config: { until: "timestamp(run.metadata.start) + duration(string(24 - 2 * index) + '00ms')" },
        },
        { id: "approval-0", type: "approval", config: { message: "{{index}}?" } },
        { id: "o", type: "output", config: { value: "{{ approval-0.action }}" } },
      ],
      ["delay-0>approval-0", "approval-0:approve>o"],
    );
    const flowId = await tenant.deploy(
      flow(
        [
          {
            id: "map-0",
            type: "map",
            config: { items: "[0,1,2,3,4,5,6,7,8,9,10,11]", max_concurrency: 12, flow: inner },
          },
          { id: "out-0", type: "output" },
        ],
        ["map-0>out-0"],
      ),
    );
    const run = await tenant.secret.post("/v2/runs", {
      project_id: flowId,
      inputs: {},
      metadata: { start: new Date().toISOString() },
    });
    const path = `${address(flowId)}/metadata`;
    const shown = async () => (await tenant.public.get(path, { query: { run_id: run.body.run_id } })).body;
    await expect.poll(async () => (await shown()).pauses?.length).toBe(12);
    const { pause, pauses } = await shown();
    expect(pauses.map(({ message }: { message: string }) => message)).toEqual(
      Array.from({ length: 12 }, (_, index) => `${index}?`),
    );
    expect(pause).toEqual(pauses[0]);
  });

  it("returns the same response again for its Idempotency-Key", async () => {
    const flowId = await tenant.deploy(failing());
    const options = { headers: { "idempotency-key": crypto.randomUUID() } };
    const first = await tenant.public.post(address(flowId), {}, options);
    const again = await tenant.public.post(address(flowId), {}, options);
    expect([again.status, again.body.run_id, again.headers.get("idempotent-replayed")]).toEqual([
      500,
      first.body.run_id,
      "true",
    ]);
  });
});

describe("a run that takes longer than the wait", () => {
  it("returns 202 with the URL to poll", async () => {
    const { status, body, headers } = await tenant.public.post(
      address(slowFlow),
      { extra: "x" },
      { headers: { prefer: "wait=0" } },
    );
    expect([status, body.state, body.metadata.ignored_inputs]).toEqual([202, "PENDING", ["extra"]]);
    expect(headers.get("preference-applied")).toBe("wait=0");
    expect(headers.get("location")).toBe(`${address(slowFlow)}/metadata?run_id=${body.run_id}`);
    const location = headers.get("location") ?? "";
    const now = await tenant.public.get(location);
    expect(now.status).toBe(200);
    expect(["PENDING", "RUNNING"]).toContain(now.body.state);
    const later = await tenant.public.get(location, { query: { wait_seconds: 60 } });
    expect(later.body).toMatchObject({
      state: "COMPLETED",
      run_id: body.run_id,
      outputs: { "out-0": "x" },
      metadata: { ignored_inputs: ["extra"] },
    });
  });

  it("returns immediately with respond-async", async () => {
    const { status, body, headers } = await tenant.public.post(
      address(slowFlow),
      {},
      { headers: { prefer: "foo; bar, respond-async" } },
    );
    expect([status, body.state, headers.get("preference-applied")]).toEqual([202, "PENDING", "respond-async"]);
    await tenant.until(body.run_id, "COMPLETED");
  });

  it("can be read at its URL, failed or not, by its own organisation only", async () => {
    const flowId = await tenant.deploy(failing());
    const failed = await tenant.public.post(address(flowId), {});
    const path = `${address(flowId)}/metadata`;
    const { status, body } = await tenant.public.get(path, { query: { run_id: failed.body.run_id } });
    expect([status, body.state, body.error.code]).toEqual([200, "FAILED", "guard_failed"]);
    const other = await openTenant(tenant.target);
    const answers = await Promise.all([
      tenant.public.get(path, { query: { run_id: UNKNOWN } }),
      tenant.public.get(`${address(echoFlow)}/metadata`, { query: { run_id: failed.body.run_id } }),
      other.public.get(path, { query: { run_id: failed.body.run_id } }),
      other.public.get(`${address(flowId, other.org_id)}/metadata`, { query: { run_id: failed.body.run_id } }),
    ]);
    expect(answers.map((answer) => answer.status)).toEqual([404, 404, 404, 404]);
    expect(new Set(answers.map(problemText)).size).toBe(1);
    expect((await tenant.public.get(path, { query: { run_id: "x" } })).status).toBe(422);
    expect((await tenant.public.get(path)).status).toBe(422);
  });
});

describe("an Idempotency-Key", () => {
  it("creates one run for 200 simultaneous posts", async () => {
    const flowId = await tenant.deploy(slow(0.5));
    const options = { headers: { "idempotency-key": crypto.randomUUID() } };
    const answers = await Promise.all(
      Array.from({ length: 200 }, () => tenant.public.post(address(flowId), {}, options)),
    );
    const statuses = new Map<number, number>();
    for (const { status } of answers) statuses.set(status, (statuses.get(status) ?? 0) + 1);
    expect([...statuses.keys()].filter((status) => status !== 200 && status !== 409)).toEqual([]);
    const last = await tenant.public.post(address(flowId), {}, options);
    expect(last.status).toBe(200);
    const ids = new Set([...answers, last].filter(({ status }) => status === 200).map(({ body }) => body.run_id));
    expect(ids.size).toBe(1);
    const refused = answers.filter(({ status }) => status === 409);
    expect(
      refused.every(({ body, headers }) => body.code === "idempotency_in_progress" && headers.get("retry-after")),
    ).toBe(true);
    expect((await tenant.secret.get("/v2/runs", { query: { project_id: flowId } })).body.data).toHaveLength(1);
  });

  it("is rejected with another body", async () => {
    const options = { headers: { "idempotency-key": crypto.randomUUID() } };
    await tenant.public.post(address(echoFlow), { "in-0": "x" }, options);
    const { status, body } = await tenant.public.post(address(echoFlow), { "in-0": "y" }, options);
    expect([status, body.code]).toEqual([409, "idempotency_conflict"]);
  });
});
