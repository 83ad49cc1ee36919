import { beforeAll, describe, expect, it } from "vitest";
import { flow } from "../../engine/support.ts";
import { echo, openTenant, type ApiTenant } from "../tenant.ts";

let tenant: ApiTenant;
beforeAll(async () => {
  tenant = await openTenant();
});

type Flow = Parameters<ApiTenant["deploy"]>[0];
type Query = Readonly<Record<string, string | number>>;

async function ended(definition: Flow, inputs: object = {}): Promise<string> {
  const given = { project_id: await tenant.deploy(definition), inputs, mode: "sync", wait_seconds: 30 };
  const { body } = await tenant.secret.post("/v2/runs", given);
  expect(body.state, JSON.stringify(body.error)).toBe("COMPLETED");
  return body.run_id;
}
const page = (run_id: string, path: string, query: Query = {}, by = tenant.secret) =>
  by.get(`/v2/runs/${run_id}/node/value`, { query: { path, ...query } });

/** All pages of a value, read by a client that follows `next_offset`. */
async function pagesOf(run_id: string, path: string, query: Query = {}): Promise<string[]> {
  const texts: string[] = [];
  for (let offset: number | null = 0; offset !== null;) {
    const { status, body } = await page(run_id, path, { ...query, offset });
    expect([status, body.offset]).toEqual([200, offset]);
    texts.push(body.text);
    offset = body.next_offset;
    const read = Buffer.byteLength(texts.join(""));
    expect(offset ?? body.size).toBe(read);
  }
  return texts;
}

/** A flow with a text twice as long as its input, so that it differs from the value of any input. */
const twice = (settings: object = {}): Flow => ({
  ...flow(
    [
      { id: "in-0", type: "input" },
      { id: "tpl-0", type: "template", config: { template: "{{in-0}}{{in-0}}" } },
      { id: "out-0", type: "output", config: { value: "done" } },
    ],
    ["in-0>tpl-0", "tpl-0>out-0"],
  ),
  settings,
});

describe("the value of a node", () => {
  it("can be read whole, page by page, whatever its length and script", async () => {
    // Characters of 1, 2, 3 and 4 bytes, so that pages of these sizes would split characters.
    const text = "aé漢😀\n".repeat(12_000);
    const run_id = await ended(twice(), { "in-0": text });
    const { body } = await tenant.secret.get(`/v2/runs/${run_id}/node`, { query: { path: "tpl-0" } });
    expect(body).toMatchObject({ truncated: true, long_values: ["output"] });
    for (const limit of [65_537, 100_003]) {
      const pages = await pagesOf(run_id, "tpl-0", { limit });
      expect(pages.length).toBeGreaterThan(1);
      expect(Math.max(...pages.map((each) => Buffer.byteLength(each)))).toBeLessThanOrEqual(limit);
      expect(JSON.parse(pages.join("")) === text + text).toBe(true);
    }
  });

  it.each([20_000, 40])("can be read whole if it is %s characters long", async (length) => {
    const text = "x".repeat(length / 2);
    const run_id = await ended(twice(), { "in-0": text });
    expect(JSON.parse((await pagesOf(run_id, "tpl-0", { limit: 9000 })).join(""))).toBe(text + text);
    const { body } = await tenant.secret.get(`/v2/runs/${run_id}/node`, { query: { path: "tpl-0" } });
    expect(body.long_values).toEqual(length > 16_384 ? ["output"] : []);
  });

  it("can also be read for the inputs of the node", async () => {
    const text = "long ".repeat(30_000);
    const code = { source: "function main({ text }) { return text.length }", args: { text: 'nodes["in-0"]' } };
    const run_id = await ended(
      flow(
        [
          { id: "in-0", type: "input" },
          { id: "code-0", type: "code", config: code },
          { id: "out-0", type: "output" },
        ],
        ["in-0>code-0", "code-0>out-0"],
      ),
      { "in-0": text },
    );
    const { body } = await tenant.secret.get(`/v2/runs/${run_id}/node`, { query: { path: "code-0" } });
    expect(body).toMatchObject({ output: text.length, truncated: false, long_values: ["inputs"] });
    const given = JSON.parse((await pagesOf(run_id, "code-0", { member: "inputs" })).join(""));
    expect(given.text === text).toBe(true);
  });

  it.each([
    ["kept by reference", 100_000],
    ["kept inline in the run", 30_000],
  ])("contains nothing that the flow redacts: %s", async (_, length) => {
    const secret = "planted-secret ";
    const items = flow(
      [
        { id: "in-0", type: "input" },
        { id: "set-0", type: "set", config: { values: { open: 'nodes["in-0"]', hidden: 'nodes["in-0"]' } } },
        { id: "out-0", type: "output", config: { value: "done" } },
      ],
      ["in-0>set-0", "set-0>out-0"],
    );
    const redacting: Flow = {
      ...items,
      settings: { redact: ["$.inputs.in-0", "$.nodes.set-0.output.hidden"] },
    };
    const run_id = await ended(redacting, { "in-0": secret.repeat(length / secret.length) });
    const value = JSON.parse((await pagesOf(run_id, "set-0")).join(""));
    expect(value.hidden).toBe("[redacted]");
    expect(value.open.length).toBeGreaterThan(length - secret.length);
    expect((await pagesOf(run_id, "in-0")).join("")).toBe('"[redacted]"');
  });

  it("returns 404 if the record has only its beginning, and for an unknown node", async () => {
    const run_id = await ended(twice(), { "in-0": "x".repeat(50_000) });
    expect((await page(run_id, "none")).status).toBe(404);
    // As an earlier version recorded it.
    await tenant.withDatabase((database) =>
      database.org(tenant.org_id, (db) =>
        db.query("update node_runs set long_values = null where run_id = $1", [run_id]),
      ),
    );
    const gone = await page(run_id, "tpl-0");
    expect([gone.status, gone.body.detail]).toEqual([404, "Value not found."]);
  });

  it("rejects an invalid page", async () => {
    const run_id = await ended(echo(), { "in-0": "é" });
    expect((await page(run_id, "in-0", { offset: 3 })).body).toMatchObject({ text: '"', next_offset: null });
    const bad: Query[] = [
      { offset: 4 },
      // An offset inside a character.
      { offset: 2 },
      { offset: -1 },
      { limit: 3 },
      { limit: 1_048_577 },
      { member: "error" },
    ];
    for (const query of bad) {
      const { status, body } = await page(run_id, "in-0", query);
      expect([status, body.detail[0].loc], JSON.stringify(query)).toEqual([422, ["query", ...Object.keys(query)]]);
    }
    expect((await tenant.secret.get(`/v2/runs/${run_id}/node/value`)).status).toBe(422);
  });

  it("is hidden from others: 401 without a credential, 404 for another organisation", async () => {
    const run_id = await ended(echo(), { "in-0": "Ada" });
    const stranger = await openTenant(tenant.target);
    expect((await page(run_id, "in-0", {}, stranger.secret)).status).toBe(404);
    const { status } = await fetch(`${tenant.target.url}/v2/runs/${run_id}/node/value?path=in-0`);
    expect(status).toBe(401);
    expect((await page(run_id, "in-0", {}, await tenant.user("viewer"))).body.text).toBe('"Ada"');
  });
});
