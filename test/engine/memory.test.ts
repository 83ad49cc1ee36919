import { afterAll, beforeAll, expect, it } from "vitest";
import { startModelStub, type ModelStub } from "../../src/dev/model-stub.ts";
import { openTenant, type ApiTenant } from "../api/tenant.ts";
import { flow } from "./support.ts";

let stub: ModelStub;
let mine: ApiTenant;
let theirs: ApiTenant;
let connection_id: string;
beforeAll(async () => {
  stub = await startModelStub();
  [mine, theirs] = await Promise.all([openTenant(), openTenant()]);
  const credential = { base_url: `${stub.url}/v1` };
  const connection = { name: "stub", provider_id: "openai_compatible", scheme: "none", credential };
  ({
    body: { connection_id },
  } = await mine.secret.post("/v2/connections", connection));
});
afterAll(() => stub.close());

const remembering = (config: Record<string, unknown> = {}, more: Record<string, unknown> = {}) =>
  flow(
    [
      { id: "in-0", type: "input" },
      {
        id: "llm-0",
        type: "llm",
        config: { model: "m", connection_id, prompt: "{{in-0}}", memory: { turns: 2 }, ...config },
      },
      { id: "out-0", type: "output" },
    ],
    ["in-0>llm-0", "llm-0>out-0"],
    more,
  );
const heard = (): string[] => stub.calls.at(-1)?.body.messages.map(({ content }: { content: string }) => content);

it("a model with memory sees earlier turns of the same user until the conversation is deleted", async () => {
  const project = await mine.deploy(remembering());
  const say = async (text: string, user_id?: string) => {
    const body = { "in-0": text, ...(user_id === undefined ? {} : { user_id }) };
    const { status } = await mine.public.post(`/inference/v0/run/${mine.org_id}/${project}`, body);
    expect(status).toBe(200);
    return heard();
  };
  stub.answer(({ body }) => ({ text: [`heard ${body.messages.at(-1).content}`] }));
  expect(await say("one", "ann-1")).toEqual(["one"]);
  expect(await say("two", "ann-1")).toEqual(["one", "heard one", "two"]);
  expect(await say("three {{7*7}}", "bob-1")).toEqual(["three {{7*7}}"]);
  await say("three", "ann-1");
  expect(await say("four", "ann-1")).toEqual(["two", "heard two", "three", "heard three", "four"]);
  expect(await say("nobody")).toEqual(["nobody"]);
  expect(await say("nobody")).toEqual(["nobody"]);

  const path = `/v2/projects/${project}/conversations`;
  const { body: page } = await mine.secret.get(path);
  expect(page.data).toMatchObject([
    { user_id: "bob-1", turns: 1 },
    { user_id: "ann-1", turns: 4 },
  ]);
  const { body: turns } = await mine.secret.get(`${path}/ann-1`, { query: { order: "asc", page_size: 1 } });
  expect(turns).toMatchObject({ data: [{ question: "one", answer: "heard one", path: "llm-0" }], has_more: true });

  for (const each of [path, `${path}/ann-1`]) {
    expect((await theirs.secret.get(each)).status).toBe(404);
    expect((await theirs.secret.delete(each)).status).toBe(404);
    expect((await mine.public.get(each)).status).toBe(403);
  }
  expect((await mine.secret.get(`${path}/nobody`)).status).toBe(404);
  expect((await mine.secret.delete(`${path}/nobody`)).status).toBe(404);
  expect((await mine.secret.delete(`${path}/ann-1`)).status).toBe(204);
  expect(await say("five", "ann-1")).toEqual(["five"]);
  expect((await mine.secret.delete(path)).status).toBe(204);
  expect((await mine.secret.get(path)).body.data).toEqual([]);
});

it("a flow that redacts values has no memory", async () => {
  const redacting = remembering({}, { settings: { redact: ["$.inputs.in-0"] } });
  const { body } = await mine.secret.post("/v2/flows/validate", { flow: redacting });
  expect(body).toMatchObject({ valid: false, problems: [{ code: "invalid_value", path: ["settings", "redact"] }] });
});
