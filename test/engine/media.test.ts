import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openTenant, type ApiTenant } from "../api/tenant.ts";
import { drawText } from "../fixtures/documents/scan.ts";
import { startHttpTarget, type HttpTarget } from "../support/http-target.ts";
import { COUNTED, startModelStub, type ModelStub } from "../../src/dev/model-stub.ts";
import { flow } from "./support.ts";

const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

let server: ModelStub;
let target: HttpTarget;
let mine: ApiTenant;
const connections: Record<string, string> = {};
beforeAll(async () => {
  server = await startModelStub();
  target = await startHttpTarget();
  mine = await openTenant();
  const credentials = { openai_compatible: `${server.url}/v1`, anthropic: server.url };
  for (const [provider_id, base_url] of Object.entries(credentials)) {
    const credential = { api_key: "sk-planted", base_url };
    const connection = { name: provider_id, provider_id, scheme: "api_key", credential };
    connections[provider_id] = (await mine.secret.post("/v2/connections", connection)).body.connection_id;
  }
});
afterAll(() => Promise.all([server.close(), target.close()]));

const ID = { image: "img2text-0", audio: "audio2text-0" };

function deploy(type: "image" | "audio", config: object = {}): Promise<string> {
  const own = { model: "m", connection_id: connections["openai_compatible"], ...config };
  const nodes = [
    { id: ID[type], type, config: own },
    { id: "out-0", type: "output" },
  ];
  return mine.deploy(flow(nodes, [`${ID[type]}>out-0`]));
}

const run = (project: string, inputs: object) =>
  mine.public.post(`/inference/v0/run/${mine.org_id}/${project}`, inputs);

async function upload(project: string, node: string, name: string, base64: string) {
  const form = new FormData();
  form.append("file", new Blob([Buffer.from(base64, "base64")]), name);
  const query = { org: mine.org_id, user_id: "ada-1", flow_id: project, node_id: node };
  return mine.public.post("/upload_to_storage_user", form, { query });
}

describe("an image node", () => {
  it.each(["openai_compatible", "anthropic"])("sends its image to a model of %s", async (provider) => {
    const project = await deploy("image", { connection_id: connections[provider], prompt: "What is it? {{7}}" });
    const sent = () => JSON.stringify(server.calls.at(-1)?.body.messages);
    for (const given of [PNG, `data:image/gif;base64,${PNG}`, `  ${PNG.slice(0, 40)}\n${PNG.slice(40)}`]) {
      server.next({ text: ["a dot"] });
      const { status, body } = await run(project, { "img2text-0": given });
      expect([status, body.outputs]).toEqual([200, { "out-0": "a dot" }]);
      expect(body.metadata.usage).toMatchObject({ input_tokens: COUNTED.input, estimated: false });
      expect(sent()).toContain(PNG);
      expect(sent()).toContain("image/png");
      expect(sent()).toContain("What is it? {{7}}");
    }
  });

  it("accepts a URL, or an upload of the same user ID, flow and node", async () => {
    const project = await deploy("image");
    target.on("/dot.png", (_, response) => void response.end(Buffer.from(PNG, "base64")));
    server.next({ text: ["fetched"] });
    const fetched = await run(project, { "img2text-0": `${target.url}/dot.png` });
    expect(fetched.body.outputs).toEqual({ "out-0": "fetched" });
    expect(JSON.stringify(server.calls.at(-1)?.body)).not.toContain(target.url);
    const { status, body: file } = await upload(project, "img2text-0", "dot.txt", PNG);
    expect([status, file.mime_type]).toEqual([200, "image/png"]);
    server.next({ text: ["uploaded"] });
    const theirs = await run(project, { "img2text-0": file.file_id, user_id: "ada-1" });
    expect(theirs.body.outputs).toEqual({ "out-0": "uploaded" });
    const others = [
      await run(project, { "img2text-0": file.file_id, user_id: "eve-1" }),
      await run(project, { "img2text-0": file.file_id }),
      await run(await deploy("image"), { "img2text-0": file.file_id, user_id: "ada-1" }),
    ];
    const missing = { loc: ["body", "img2text-0"], type: "file_not_found" };
    expect(others.map(({ status: code, body }) => [code, body.detail])).toEqual(
      others.map(() => [422, [expect.objectContaining(missing)]]),
    );
    const asked = { project_id: project, inputs: { "img2text-0": file.file_id }, user_id: "eve-1" };
    expect((await mine.secret.post("/v2/runs", asked)).body.detail).toEqual([
      expect.objectContaining({ ...missing, loc: ["body", "inputs", "img2text-0"] }),
    ]);
    expect((await upload(project, "img2text-0", "a.png", WAV)).status).toBe(415);
    expect((await run(project, { "img2text-0": `${target.url}/echo` })).body.error.code).toBe("unsupported_type");
  });

  it("recognises text without a model", async () => {
    const project = await deploy("image", { mode: "ocr", model: undefined, connection_id: undefined });
    const before = server.calls.length;
    const lines = ["The quick brown fox", "jumps over the lazy dog"];
    const { status, body } = await run(project, { "img2text-0": drawText(lines, "image/png").toString("base64") });
    expect([status, body.outputs["out-0"]]).toEqual([200, expect.stringMatching(/quick brown fox[^]*lazy dog/)]);
    expect(server.calls).toHaveLength(before);
    const gif = await run(project, { "img2text-0": Buffer.from("GIF89a-not-read-by-ocr").toString("base64") });
    expect([gif.status, gif.body.detail[0].type]).toEqual([422, "media_type"]);
  });

  it("returns an empty text if an optional image is omitted", async () => {
    const { body } = await run(await deploy("image", { required: false }), {});
    expect(body.outputs).toEqual({ "out-0": "" });
  });
});

describe("an audio node", () => {
  it("transcribes a recording that is sent or uploaded", async () => {
    const project = await deploy("audio");
    const sent = await run(project, { "audio2text-0": `data:audio/wav;base64,${WAV}` });
    const echoed = "[model-stub: no model, an echo] a recording of 44 bytes (audio/wav)";
    expect([sent.status, sent.body.outputs]).toEqual([200, { "out-0": echoed }]);
    expect(sent.body.metadata.usage.total_tokens).toBe(COUNTED.input + COUNTED.output);
    expect(server.calls.at(-1)).toMatchObject({ path: "/v1/audio/transcriptions", body: { model: "m" } });
    const { body: file } = await upload(project, "audio2text-0", "memo", WAV);
    const uploaded = await run(project, { "audio2text-0": file.file_id, user_id: "ada-1" });
    expect(uploaded.body.outputs).toEqual({ "out-0": echoed });
  });

  it("reports the endpoint's error", async () => {
    const once = { retry: { max_attempts: 1 } };
    const nodes = (connection: string) => [
      { id: "audio2text-0", type: "audio", config: { model: "m", connection_id: connections[connection] }, ...once },
      { id: "out-0", type: "output" },
    ];
    const ask = async (connection = "openai_compatible") => {
      const project = await mine.deploy(flow(nodes(connection), ["audio2text-0>out-0"]));
      const { status, body } = await run(project, { "audio2text-0": WAV });
      expect(JSON.stringify(body)).not.toContain("sk-planted");
      return [status, body.error.code];
    };
    server.next(
      { status: 429 },
      { status: 401, error: "Incorrect key: sk-planted" },
      { raw: "not json" },
      { raw: "{}" },
    );
    const answers = [await ask(), await ask(), await ask(), await ask(), await ask("anthropic")];
    expect(answers).toEqual([
      [502, "model_rate_limited"],
      [502, "model_refused"],
      [502, "model_answer_invalid"],
      [502, "model_answer_invalid"],
      [502, "model_refused"],
    ]);
  });
});

describe("the input of a node that reads files", () => {
  it.each([
    ["image", "no base64!", "base64"],
    ["image", "data:image/png,raw", "base64"],
    ["image", WAV, "media_type"],
    ["image", "http://", "url_parsing"],
    ["audio", PNG, "media_type"],
    ["audio", "https://example.com/a.wav", "url_parsing"],
    ["audio", "A", "base64"],
    ["audio", "", "base64"],
    ["audio", 7, "string_type"],
    ["audio", undefined, "missing"],
  ] as const)("%s: %j is refused", async (kind, given, type) => {
    const { status, body } = await run(await deploy(kind), { [ID[kind]]: given });
    expect([status, body.detail]).toEqual([422, [expect.objectContaining({ loc: ["body", ID[kind]], type })]]);
  });

  it("appears in the flow's io-schema and snippets", async () => {
    const project = await deploy("audio");
    const { body } = await mine.secret.get(`/v2/projects/${project}/io-schema`);
    expect(body.inputs.properties["audio2text-0"]).toMatchObject({
      "x-node-type": "audio",
      contentEncoding: "base64",
      "x-accept": expect.arrayContaining(["audio/wav"]),
    });
    expect((await mine.secret.get(`/v2/projects/${project}/snippets`)).body.curl).toContain(WAV);
    const { body: checked } = await mine.secret.post("/v2/flows/validate", {
      flow: flow(
        [
          { id: "img2text-0", type: "image" },
          { id: "out-0", type: "output" },
        ],
        ["img2text-0>out-0"],
      ),
    });
    expect(checked.problems).toEqual([expect.objectContaining({ code: "model_not_configured" })]);
  });
});

it("an llm node sends its model the images that an expression selects", async () => {
  const config = {
    model: "m",
    connection_id: connections["anthropic"],
    prompt: "Compare.",
    images: 'inputs["in-0"].split(" ")',
  };
  const nodes = [
    { id: "in-0", type: "input" },
    { id: "llm-0", type: "llm", config },
    { id: "out-0", type: "output" },
  ];
  const project = await mine.deploy(flow(nodes, ["in-0>llm-0", "llm-0>out-0"]));
  server.next({ text: ["the same"] });
  expect((await run(project, { "in-0": `${PNG} ${PNG}` })).body.outputs).toEqual({ "out-0": "the same" });
  expect(JSON.stringify(server.calls.at(-1)?.body).split(PNG)).toHaveLength(3);
  expect((await run(project, { "in-0": "no picture" })).body.error.code).toBe("unsupported_type");
});
