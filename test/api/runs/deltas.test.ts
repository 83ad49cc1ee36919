import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startModelStub, type ModelStub } from "../../../src/dev/model-stub.ts";
import { flow } from "../../engine/support.ts";
import { echo, openTenant, type ApiTenant } from "../tenant.ts";
import { eventsOf, framesOf } from "./streams.ts";

let tenant: ApiTenant;
let server: ModelStub;
let connection_id: string;
beforeAll(async () => {
  server = await startModelStub();
  tenant = await openTenant();
  const { body } = await tenant.secret.post("/v2/connections", {
    name: "stub",
    provider_id: "openai_compatible",
    scheme: "api_key",
    credential: { api_key: "sk-planted", base_url: `${server.url}/v1` },
  });
  connection_id = body.connection_id;
});
afterAll(() => server.close());

/** Longer than the time for which pieces are gathered, so each piece arrives alone. */
const PAUSE_MS = 200;

function asking(config: object = {}, value?: string, settings: object = {}) {
  const nodes = [
    { id: "in-0", type: "input" },
    {
      id: "llm-0",
      type: "llm",
      config: { model: "m", connection_id, prompt: "{{in-0}}", ...config },
      retry: { max_attempts: 3, initial_interval_ms: 10 },
    },
    { id: "out-0", type: "output", config: value === undefined ? {} : { value } },
  ];
  return tenant.deploy({ ...flow(nodes, ["in-0>llm-0", "llm-0>out-0"]), settings });
}

interface Frame {
  readonly outputs: Record<string, unknown>;
  readonly state: string;
  readonly reset?: true;
  readonly run_id: string;
}

async function stream(flowId: string, query = ""): Promise<Frame[]> {
  const url = `/inference/v0/stream/${tenant.org_id}/${flowId}${query}`;
  const response = await tenant.public.raw("POST", url, { "in-0": "Ada" });
  const frames: Frame[] = [];
  for await (const line of framesOf(response)) frames.push(JSON.parse(line));
  return frames;
}

/** The output as a client has it that concatenates deltas, after each frame with output. */
function addedUp(frames: readonly Frame[]): unknown[] {
  let text: unknown;
  return frames.flatMap(({ outputs, reset }) => {
    if (!("out-0" in outputs)) return [];
    const piece = outputs["out-0"];
    text = typeof text === "string" && typeof piece === "string" && !reset ? text + piece : piece;
    return [text];
  });
}

describe("the text that a model writes", () => {
  it("is streamed as growing outputs, even if templates and inputs come before it", async () => {
    server.next({ text: ["One ", "two ", "three"], pauseMs: PAUSE_MS });
    const frames = await stream(await asking({}, "Dear {{in-0}}: {{llm-0}}."));
    const texts = addedUp(frames);
    expect(texts.length).toBeGreaterThanOrEqual(3);
    expect(texts[0]).toBe("Dear Ada: One ");
    expect(frames.at(-1)).toMatchObject({ state: "COMPLETED" });
    expect(texts.at(-1)).toBe("Dear Ada: One two three.");
    expect(frames.some(({ reset }) => reset)).toBe(false);
    server.next({ text: ["One ", "two ", "three"], pauseMs: PAUSE_MS });
    const whole = (await stream(await asking(), "?delta=false")).map(
      ({ outputs }) => (outputs["out-0"] ?? "") as string,
    );
    expect(whole).toEqual(whole.toSorted((a, b) => a.length - b.length));
    expect(whole).toContain("One ");
    expect(whole.at(-1)).toBe("One two three");
  });

  it("starts again after a retry or with a fallback model", async () => {
    server.next({ text: ["Wrong ", "way "], pauseMs: PAUSE_MS, cut: true }, { text: ["Right", " way"] });
    const retried = await stream(await asking());
    expect(addedUp(retried)[0]).toBe("Wrong ");
    expect(retried.find(({ reset }) => reset)?.outputs).toEqual({ "out-0": expect.stringMatching(/^Right/) });
    expect(addedUp(retried).at(-1)).toBe("Right way");
    server.next({ text: ["Wrong ", "way "], pauseMs: PAUSE_MS, cut: true }, { text: ["Right", " way"] });
    const other = await stream(await asking({ fallback_models: ["n"] }));
    expect(other.some(({ reset }) => reset)).toBe(true);
    expect(addedUp(other).at(-1)).toBe("Right way");
  });

  it("is sent as events of the run, to any reader and after a reconnect", async () => {
    server.next({ text: ["One ", "two ", "three"], pauseMs: PAUSE_MS });
    const { body: run } = await tenant.secret.post("/v2/runs", {
      project_id: await asking(),
      inputs: { "in-0": "Ada" },
    });
    const read = async (stopAfter: number) => {
      const headers = { accept: "text/event-stream" };
      const gone = new AbortController();
      const response = await tenant.secret.raw("GET", `/v2/runs/${run.run_id}`, undefined, {
        headers,
        signal: gone.signal,
      });
      const deltas: Array<{ data: Record<string, unknown>; id: string }> = [];
      const seen: string[] = [];
      for await (const { event, data, id } of eventsOf(response)) {
        const { data: told } = JSON.parse(data);
        seen.push(`${event} ${told?.path ?? ""}`.trim());
        if (event === "output.delta") deltas.push({ data: told, id });
        if (deltas.length === stopAfter) break;
      }
      gone.abort();
      return { deltas, seen };
    };
    const broken = await read(1);
    expect(broken.deltas).toEqual([
      {
        data: { node_id: "llm-0", path: "llm-0", attempt: 1, step: 1, offset: 0, text: "One ", outputs: ["out-0"] },
        id: "",
      },
    ]);
    const { deltas, seen } = await read(100);
    expect(deltas.map(({ data }) => data["text"]).join("")).toBe("One two three");
    expect(seen.lastIndexOf("output.delta llm-0")).toBeLessThan(seen.indexOf("node.finished llm-0"));
    expect(seen.at(-1)).toBe("run.finished");
  });

  it("is sent step by step if the model calls tools", async () => {
    const greeting = await tenant.deploy(echo());
    const called = { id: "call_1", name: "greet", input: { "in-0": "Ada" } };
    server.next(
      { text: ["Let me ", "look. "], pauseMs: PAUSE_MS, tools: [called] },
      { text: ["It is ", "Ada."], pauseMs: PAUSE_MS },
    );
    const flowId = await asking({ tools: [{ type: "subflow", project_id: greeting, name: "greet" }] });
    const frames = await stream(flowId);
    const texts = addedUp(frames);
    expect(texts[0]).toBe("Let me ");
    expect(frames.find(({ reset }) => reset)?.outputs["out-0"]).toMatch(/^It is /);
    expect([texts.at(-1), frames.at(-1)?.state]).toEqual(["It is Ada.", "COMPLETED"]);

    const path = `/v2/runs/${frames[0]?.run_id}`;
    const headers = { accept: "text/event-stream" };
    const said = new Map<number, string>();
    for await (const { event, data } of eventsOf(await tenant.secret.raw("GET", path, undefined, { headers }))) {
      if (event !== "output.delta") continue;
      const { path: node, step, text } = JSON.parse(data).data;
      expect(node).toBe("llm-0");
      said.set(step, (said.get(step) ?? "") + text);
    }
    // A client that connects later receives only the latest step.
    expect([...said]).toEqual([[2, "It is Ada."]]);
  });

  it("is not streamed if settings.redact may cover it or the output is JSON", async () => {
    const before = await tenant.withDatabase((db) =>
      db.system((c) => c.query("select 1 from run_deltas where org_id = $1", [tenant.org_id])),
    );
    server.next({ text: ["The secret ", "is 42"], pauseMs: PAUSE_MS });
    const masked = await stream(await asking({}, undefined, { redact: ["$.outputs.out-0"] }));
    expect(JSON.stringify(masked)).not.toContain("secret");
    server.next({ text: ['{"n": ', "4}"], pauseMs: PAUSE_MS });
    const schema = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] };
    expect(addedUp(await stream(await asking({ schema })))).toEqual([{ n: 4 }]);
    const after = await tenant.withDatabase((db) =>
      db.system((c) => c.query("select 1 from run_deltas where org_id = $1", [tenant.org_id])),
    );
    expect(after.length).toBe(before.length);
  });
});
