import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startHttpTarget, type HttpTarget } from "../../support/http-target.ts";
import { echo, openTenant, type ApiTenant } from "../tenant.ts";
import { contentOf, importEnd, importInto, makeDataset, rowsPath } from "./evals.ts";

let tenant: ApiTenant;
let target: HttpTarget;

beforeAll(async () => {
  tenant = await openTenant();
  target = await startHttpTarget();
});
afterAll(() => target.close());

const MAPPING = { inputs: { "in-0": "q" }, expected_outputs: { "out-0": "a" }, external_id: "id" };
const csv = (text: string, rest: Record<string, unknown> = {}) => ({
  source: { type: "csv", text },
  mapping: MAPPING,
  ...rest,
});

describe("a dataset", () => {
  it("is created, listed by project and tag, updated with its ETag, and deleted", async () => {
    const project_id = await tenant.deploy(echo());
    const answer = await tenant.secret.post("/v2/evals/datasets", {
      name: "Golden",
      project_id,
      tags: ["gold", "gold"],
    });
    expect(answer.status).toBe(201);
    expect(answer.body).toMatchObject({ name: "Golden", project_id, version: 0, row_count: 0, input_schema: null });
    expect(answer.body.tags).toEqual(["gold"]);
    const path = answer.headers.get("location") ?? "";
    const listed = async (query: Record<string, string>) =>
      (await tenant.secret.get("/v2/evals/datasets", { query })).body.data.map((each: { name: string }) => each.name);
    expect(await listed({ project_id, tag: "gold" })).toEqual(["Golden"]);
    expect(await listed({ project_id, tag: "silver" })).toEqual([]);
    const etag = answer.headers.get("etag") ?? "";
    const change = { name: "Better", project_id: null };
    expect((await tenant.secret.patch(path, change, { headers: { "if-match": etag } })).body).toMatchObject(change);
    expect((await tenant.secret.patch(path, change, { headers: { "if-match": etag } })).status).toBe(412);
    expect((await tenant.secret.delete(path)).status).toBe(204);
    expect((await tenant.secret.get(path)).status).toBe(404);
  });

  it("rejects an unknown project and an invalid schema", async () => {
    const create = (body: object) => tenant.secret.post("/v2/evals/datasets", { name: "x", ...body });
    expect((await create({ project_id: randomUUID() })).status).toBe(404);
    const { status, body } = await create({ input_schema: { type: "nonsense" } });
    expect([status, body.detail[0].loc]).toEqual([422, ["body", "input_schema"]]);
  });

  it("keeps each version's rows forever", async () => {
    const id = await makeDataset(tenant);
    const path = rowsPath(id);
    const { body: first } = await tenant.secret.post(path, {
      inputs: { "in-0": "a" },
      external_id: "a",
      split: "test",
    });
    const many = await tenant.secret.post(path, { rows: [{ inputs: { "in-0": "b" } }, { inputs: { "in-0": "c" } }] });
    expect(many.status).toBe(201);
    const [second] = many.body.rows;
    const changed = await tenant.secret.patch(`${path}/${first.row_id}`, { expected_outputs: { "out-0": "A" } });
    expect(changed.body).toMatchObject({ version: 3, external_id: "a", split: "test", inputs: { "in-0": "a" } });
    expect((await tenant.secret.delete(`${path}/${second.row_id}`)).status).toBe(204);
    expect((await tenant.secret.get(`/v2/evals/datasets/${id}`)).body).toMatchObject({ version: 4, row_count: 2 });
    const [a, b, c] = ["a", "b", "c"].map((text) => [text === "a" ? "a" : null, { "in-0": text }, {}]);
    const withA = ["a", { "in-0": "a" }, { "out-0": "A" }];
    expect(await contentOf(tenant, id, 0)).toEqual([]);
    expect(await contentOf(tenant, id, 1)).toEqual([a]);
    expect(await contentOf(tenant, id, 2)).toEqual([a, b, c]);
    expect(await contentOf(tenant, id, 3)).toEqual([withA, b, c]);
    expect(await contentOf(tenant, id)).toEqual([withA, c]);
    expect((await tenant.secret.get(`${path}/${second.row_id}`)).status).toBe(404);
    expect((await tenant.secret.get(`${path}/${second.row_id}`, { query: { version: 3 } })).body.inputs).toEqual({
      "in-0": "b",
    });
  });

  it("does not change for an update without effect, and returns 404 for a version it has not reached", async () => {
    const id = await makeDataset(tenant);
    const path = `/v2/evals/datasets/${id}`;
    const { body: row } = await tenant.secret.post(rowsPath(id), { inputs: { "in-0": "a" }, tags: ["t", "t"] });
    const before = await tenant.secret.get(path);
    for (const change of [{}, { inputs: { "in-0": "a" } }, { tags: ["t"], split: null }]) {
      const same = await tenant.secret.patch(`${rowsPath(id)}/${row.row_id}`, change);
      expect([same.status, same.body]).toEqual([200, row]);
    }
    for (const change of [{}, { name: "Questions" }])
      expect((await tenant.secret.patch(path, change)).body).toEqual(before.body);
    const after = await tenant.secret.get(path);
    expect([after.headers.get("etag"), after.body]).toEqual([before.headers.get("etag"), before.body]);
    const long = await tenant.secret.patch(`${rowsPath(id)}/${row.row_id}`, { metadata: { x: "x".repeat(1_100_000) } });
    expect(long.status).toBe(422);
    for (const at of ["/rows", `/rows/${row.row_id}`, "/export"]) {
      expect((await tenant.secret.raw("GET", `${path}${at}?version=1`)).status).toBe(200);
      expect((await tenant.secret.raw("GET", `${path}${at}?version=2`)).status).toBe(404);
    }
  });

  it("restores the rows of an earlier version as a new version", async () => {
    const id = await makeDataset(tenant);
    const path = rowsPath(id);
    const rows = ["a", "b", "c"].map((text) => ({ inputs: { "in-0": text }, external_id: text }));
    const { body } = await tenant.secret.post(path, { rows });
    const [a, b] = body.rows;
    await tenant.secret.patch(`${path}/${a.row_id}`, { expected_outputs: { "out-0": "A" }, status: "archived" });
    await tenant.secret.delete(`${path}/${b.row_id}`);
    await tenant.secret.post(path, { inputs: { "in-0": "d" }, external_id: "b" });
    const [first, fourth] = [await contentOf(tenant, id, 1), await contentOf(tenant, id, 4)];
    const restore = (version: number) => tenant.secret.post(`/v2/evals/datasets/${id}/restore`, { version });
    expect((await restore(1)).body).toMatchObject({ version: 5, row_count: 3 });
    expect(await contentOf(tenant, id)).toEqual(first);
    const { data } = (await tenant.secret.get(path, { query: { status: "active", order: "asc" } })).body;
    expect(data.map(({ row_id }: { row_id: string }) => row_id)).toEqual(
      body.rows.map(({ row_id }: { row_id: string }) => row_id),
    );
    expect((await restore(1)).body.version).toBe(5);
    expect((await restore(4)).body).toMatchObject({ version: 6, row_count: 3 });
    expect(await contentOf(tenant, id)).toEqual(fourth);
    expect((await restore(0)).body).toMatchObject({ version: 7, row_count: 0 });
    expect([(await restore(8)).status, (await restore(-1)).status]).toEqual([404, 422]);
    const other = await openTenant();
    expect((await other.secret.post(`/v2/evals/datasets/${id}/restore`, { version: 1 })).status).toBe(404);
  });

  it("filters rows by split, tag, status and external ID", async () => {
    const id = await makeDataset(tenant);
    const rows = [
      { inputs: { "in-0": "1" }, split: "test", tags: ["hard"] },
      { inputs: { "in-0": "2" }, split: "train", external_id: "two" },
    ];
    const { body } = await tenant.secret.post(rowsPath(id), { rows });
    await tenant.secret.patch(`${rowsPath(id)}/${body.rows[0].row_id}`, { status: "archived" });
    const found = async (query: Record<string, string>) =>
      (await tenant.secret.get(rowsPath(id), { query })).body.data.map((row: { inputs: object }) => row.inputs);
    expect(await found({ split: "test" })).toEqual([{ "in-0": "1" }]);
    expect(await found({ tag: "hard" })).toEqual([{ "in-0": "1" }]);
    expect(await found({ status: "active" })).toEqual([{ "in-0": "2" }]);
    expect(await found({ external_id: "two" })).toEqual([{ "in-0": "2" }]);
  });

  it("rejects rows that break the schema or reuse an external ID, each with its location", async () => {
    const input_schema = {
      type: "object",
      properties: { "in-0": { $ref: "#/$defs/long" } },
      $defs: { long: { minLength: 3 } },
    };
    const id = await makeDataset(tenant, { input_schema });
    const good = { inputs: { "in-0": "long" }, external_id: "one" };
    const broken = await tenant.secret.post(rowsPath(id), { rows: [good, { inputs: { "in-0": "x" } }] });
    expect([broken.status, broken.body.detail[0].loc]).toEqual([422, ["body", "rows", 1, "inputs"]]);
    expect(broken.body.detail[0].msg).toContain("inputs.in-0 must NOT have fewer than 3 characters");
    const { body: row } = await tenant.secret.post(rowsPath(id), good);
    expect((await tenant.secret.post(rowsPath(id), good)).body.code).toBe("conflict");
    expect((await tenant.secret.patch(`${rowsPath(id)}/${row.row_id}`, { inputs: { "in-0": "x" } })).status).toBe(422);
    const shapeless = await tenant.secret.post(rowsPath(id), { inputs: { "in 0": "x" } });
    expect([shapeless.status, shapeless.body.detail[0].loc]).toEqual([422, ["body", "inputs", "in 0"]]);
  });

  it("adds a row once per Idempotency-Key, and rejects a row update with an outdated ETag", async () => {
    const id = await makeDataset(tenant);
    const headers = { "idempotency-key": randomUUID() };
    const row = { inputs: { "in-0": "x" } };
    const first = await tenant.secret.post(rowsPath(id), row, { headers });
    const again = await tenant.secret.post(rowsPath(id), row, { headers });
    expect(again.body).toEqual(first.body);
    const path = `${rowsPath(id)}/${first.body.row_id}`;
    expect((await tenant.secret.patch(path, { split: "a" }, { headers: { "if-match": '"r1"' } })).status).toBe(200);
    expect((await tenant.secret.patch(path, { split: "b" }, { headers: { "if-match": '"r1"' } })).status).toBe(412);
  });
});

describe("an import into a dataset", () => {
  it("adds rows from mapped CSV text as one version, with an error for each invalid line", async () => {
    const id = await makeDataset(tenant);
    const text = 'id,q,a\n1,"What, now?",Yes\n2,only two\n1,again,No\n3,"=1+1",Two\n';
    const dry = await importInto(tenant, id, csv(text, { dry_run: true }));
    expect(dry).toMatchObject({ status: "completed", counts: { read: 4, created: 2, failed: 2 }, version: null });
    expect(dry.preview[0]).toMatchObject({ external_id: "1", inputs: { "in-0": "What, now?" } });
    expect(await contentOf(tenant, id)).toEqual([]);
    const done = await importInto(tenant, id, csv(text));
    expect(done).toMatchObject({
      status: "completed",
      version: 1,
      counts: { read: 4, created: 2, updated: 0, failed: 2 },
    });
    expect(done.errors.map((each: { line: number; code: string }) => [each.line, each.code])).toEqual([
      [3, "unreadable_record"],
      [4, "duplicate_external_id"],
    ]);
    expect(await contentOf(tenant, id)).toEqual([
      ["1", { "in-0": "What, now?" }, { "out-0": "Yes" }],
      ["3", { "in-0": "=1+1" }, { "out-0": "Two" }],
    ]);
  });

  it("appends, updates by external ID, or replaces; unchanged rows stay as they are", async () => {
    const id = await makeDataset(tenant);
    await importInto(tenant, id, csv("id,q,a\n1,one,1\n2,two,2\n"));
    const appended = await importInto(tenant, id, csv("id,q,a\n1,uno,1\n3,three,3\n"));
    expect(appended.counts).toMatchObject({ created: 1, updated: 0, skipped: 1, removed: 0 });
    const upserted = await importInto(tenant, id, csv("id,q,a\n1,uno,1\n2,two,2\n", { mode: "upsert" }));
    expect(upserted.counts).toMatchObject({ created: 0, updated: 1, skipped: 1, removed: 0 });
    const replaced = await importInto(tenant, id, csv("id,q,a\n1,uno,1\n4,four,4\n", { mode: "replace" }));
    expect(replaced.counts).toMatchObject({ created: 1, updated: 0, skipped: 1, removed: 2 });
    const inputs = async (version?: number) =>
      (await contentOf(tenant, id, version)).map((row) => (row as [string])[0]);
    expect([await inputs(1), await inputs(2), await inputs()]).toEqual([
      ["1", "2"],
      ["1", "2", "3"],
      ["1", "4"],
    ]);
    expect((await tenant.secret.get(`/v2/evals/datasets/${id}`)).body).toMatchObject({ version: 4, row_count: 2 });
    const nothing = await importInto(tenant, id, csv("id,q,a\n1,uno,1\n", { mode: "upsert" }));
    expect(nothing).toMatchObject({ version: 4, counts: { updated: 0, skipped: 1 } });
  });

  it("replace-empties: rejects a mistyped column or a file without rows, and neither deletes nor empties anything", async () => {
    const id = await makeDataset(tenant);
    await importInto(tenant, id, csv("id,q,a\n1,one,1\n2,two,2\n"));
    const before = await contentOf(tenant, id);
    const replace = (text: string, mapping: object = MAPPING) =>
      importInto(tenant, id, { ...csv(text, { mode: "replace" }), mapping: { ...MAPPING, ...mapping } });
    const codes = [
      await replace("id,q,a\n1,uno,1\n", { inputs: { "in-0": "question" } }),
      await replace("id,q,a\n1,uno,1\n", { expected_outputs: { "out-0": "answer" } }),
      await replace("id,q,a\n1,uno,1\n", { external_id: "ID" }),
      await replace("id,q,a\n1,uno,1\n", { metadata: { lang: "lang" } }),
      await replace("id,q,a\n1\n2\n"),
      await replace("id,q,a\n"),
    ].map(({ status, errors, counts, version }) => [status, errors[0].code, counts.removed, version]);
    expect(codes).toEqual([
      ...Array.from({ length: 4 }, () => ["failed", "field_missing", 0, null]),
      ["failed", "nothing_to_import", 0, null],
      ["failed", "nothing_to_import", 0, null],
    ]);
    const named = await importInto(tenant, id, csv("id,q,a\n3,x,3\n", { mapping: { inputs: { "in-0": "Q" } } }));
    expect(named).toMatchObject({ status: "failed", errors: [{ line: null }, { line: 2 }] });
    expect(named.errors[0].message).toContain('"id", "q", "a"');
    const upsert = csv("id,q,a\n1,uno,1\n", {
      mode: "upsert",
      mapping: { ...MAPPING, expected_outputs: { "out-0": "b" } },
    });
    expect(await importInto(tenant, id, upsert)).toMatchObject({ status: "failed", version: null });
    expect(await contentOf(tenant, id)).toEqual(before);
    // JSON records may lack fields.
    const text = '{"q":"x","a":"y","id":"1"}\n{"q":"z","id":"2"}\n';
    const sparse = {
      source: { type: "jsonl", text },
      mapping: { ...MAPPING, metadata: { m: "none" } },
      mode: "replace",
    };
    expect((await importInto(tenant, id, sparse)).counts).toMatchObject({ updated: 2, removed: 0, failed: 0 });
    expect(await contentOf(tenant, id)).toEqual([
      ["1", { "in-0": "x" }, { "out-0": "y" }],
      ["2", { "in-0": "z" }, {}],
    ]);
  });

  it("replaces nothing if most records fail, unless the request allows it", async () => {
    const id = await makeDataset(tenant);
    await importInto(tenant, id, csv("id,q,a\n1,one,1\n2,two,2\n3,three,3\n"));
    const before = await contentOf(tenant, id);
    const most = (more: object) => importInto(tenant, id, csv("id,q,a\n1,uno,1\n4\n5\n", { mode: "replace", ...more }));
    const refused = await most({});
    expect([refused.status, refused.errors[0].code, refused.counts]).toEqual([
      "failed",
      "mostly_unreadable",
      { read: 3, created: 0, updated: 0, skipped: 0, failed: 2, removed: 0 },
    ]);
    expect((await most({ dry_run: true })).counts).toMatchObject({ updated: 1, removed: 2, failed: 2 });
    expect(await contentOf(tenant, id)).toEqual(before);
    const half = csv("id,q,a\n1,uno,1\n4\n", { mode: "replace", dry_run: true });
    expect((await importInto(tenant, id, half)).status).toBe("completed");
    expect((await most({ on_error: "skip" })).counts).toMatchObject({ updated: 1, removed: 2, failed: 2 });
    expect(await contentOf(tenant, id)).toHaveLength(1);
    const appended = await importInto(tenant, id, csv("id,q,a\n6,x,1\n7\n8\n", { mode: "append" }));
    expect(appended).toMatchObject({ status: "completed", counts: { created: 1, failed: 2 } });
  });

  it("keeps archived rows archived in an upsert, and makes them active in a replace", async () => {
    const id = await makeDataset(tenant);
    await importInto(tenant, id, csv("id,q,a\n1,one,1\n2,two,2\n"));
    const { data } = (await tenant.secret.get(rowsPath(id), { query: { external_id: "1" } })).body;
    await tenant.secret.patch(`${rowsPath(id)}/${data[0].row_id}`, { status: "archived" });
    const archived = async () =>
      (await tenant.secret.get(rowsPath(id), { query: { status: "archived" } })).body.data.map(
        (row: { inputs: object }) => row.inputs,
      );
    const same = await importInto(tenant, id, csv("id,q,a\n1,one,1\n", { mode: "upsert" }));
    expect(same.counts).toMatchObject({ updated: 0, skipped: 1 });
    const other = await importInto(tenant, id, csv("id,q,a\n1,uno,1\n", { mode: "upsert" }));
    expect([other.counts.updated, await archived()]).toEqual([1, [{ "in-0": "uno" }]]);
    await importInto(tenant, id, csv("id,q,a\n1,uno,1\n", { mode: "replace" }));
    expect(await archived()).toEqual([]);
  });

  it("changes only the fields in the record when it upserts a row", async () => {
    const id = await makeDataset(tenant);
    const row = {
      external_id: "1",
      inputs: { "in-0": "q", "in-1": "de" },
      expected_outputs: { "out-0": "a", "out-1": "b" },
      metadata: { from: "x", by: "y" },
      split: "test",
      tags: ["t"],
    };
    await tenant.secret.post(rowsPath(id), row);
    const now = async () => (await tenant.secret.get(rowsPath(id))).body.data[0];
    const upsert = (source: object, mapping?: object) =>
      importInto(tenant, id, { source, mode: "upsert", ...(mapping ? { mapping } : {}) });
    await upsert(
      { type: "csv", text: "id,q,by\n1,Q,z\n" },
      { inputs: { "in-0": "q" }, metadata: { by: "by" }, external_id: "id" },
    );
    const merged = { ...row, inputs: { "in-0": "Q", "in-1": "de" }, metadata: { from: "x", by: "z" } };
    expect(await now()).toMatchObject(merged);
    await upsert({ type: "jsonl", text: '{"external_id":"1","inputs":{"in-0":"R"},"tags":["u"]}' });
    const whole = { ...merged, inputs: { "in-0": "R" }, tags: ["u"] };
    expect(await now()).toMatchObject(whole);
    expect((await now()).inputs).toEqual({ "in-0": "R" });
    // An empty cell clears the value; an absent column leaves it unchanged.
    await upsert({ type: "csv", text: "external_id,inputs.in-0,expected_outputs.out-0,split\n1,R,,\n" });
    expect(await now()).toMatchObject({ ...whole, expected_outputs: {}, split: null });
    const same = await upsert({ type: "jsonl", text: '{"external_id":"1","inputs":{"in-0":"R"}}' });
    expect(same.counts).toMatchObject({ updated: 0, skipped: 1 });
    const replaced = { type: "jsonl", text: '{"external_id":"1","inputs":{"in-0":"S"}}' };
    await importInto(tenant, id, { source: replaced, mode: "replace" });
    expect(await now()).toMatchObject({ inputs: { "in-0": "S" }, metadata: {}, split: null, tags: [] });
  });

  it("reads spreadsheet exports: semicolons, tabs, Latin-1, UTF-16", async () => {
    const id = await makeDataset(tenant);
    const sent = async (bytes: Buffer) => {
      const form = new FormData();
      form.set("file", new Blob([new Uint8Array(bytes)]), "rows.csv");
      form.set("mapping", JSON.stringify(MAPPING));
      const { body } = await tenant.secret.post(`/v2/evals/datasets/${id}/imports`, form);
      return await importEnd(tenant, id, body.import_id);
    };
    const latin = Buffer.from('id;q;a\n1;Wo, bitte, ist M\xfcnchen?;"hier; 5 \x80"\n', "latin1");
    expect(await sent(latin)).toMatchObject({
      preview: [{ inputs: { "in-0": "Wo, bitte, ist München?" }, expected_outputs: { "out-0": "hier; 5 €" } }],
    });
    const wide = Buffer.from("\ufeffid\tq\ta\n2\tñ, ä\tx\n", "utf16le");
    expect(await sent(wide)).toMatchObject({ preview: [{ inputs: { "in-0": "ñ, ä" } }] });
  });

  it("writes nothing if on_error is abort and a record fails", async () => {
    const id = await makeDataset(tenant);
    const ended = await importInto(tenant, id, csv("id,q,a\n1,one,1\nx\n", { on_error: "abort" }));
    expect(ended).toMatchObject({ status: "failed", version: null, errors: [{ line: 3, code: "unreadable_record" }] });
    expect(await contentOf(tenant, id)).toEqual([]);
  });

  it("reads JSONL and JSON exports without a mapping, from a file and from a URL", async () => {
    const id = await makeDataset(tenant, { input_schema: { properties: { "in-0": { type: "string" } } } });
    const lines = [
      '{"inputs":{"in-0":"a"},"tags":["t"]}',
      "{",
      '{"inputs":{"in-0":1}}',
      '{"inputs":{},"__proto__":{}}',
    ];
    const form = new FormData();
    form.set("file", new Blob([lines.join("\n")]), "rows.jsonl");
    const { body } = await tenant.secret.post(`/v2/evals/datasets/${id}/imports`, form);
    const ended = await importEnd(tenant, id, body.import_id);
    expect(ended.counts).toMatchObject({ read: 4, created: 1, failed: 3 });
    expect(ended.errors.map((each: { line: number; code: string }) => [each.line, each.code])).toEqual([
      [2, "unreadable_record"],
      [4, "unreadable_record"],
      [3, "input_schema"],
    ]);
    target.on("/rows.json", (_, response) => void response.end(JSON.stringify([{ inputs: { "in-0": "b" } }])));
    const url = await importInto(tenant, id, { source: { type: "json", url: `${target.url}/rows.json` } });
    expect(url).toMatchObject({ status: "completed", counts: { created: 1 } });
    target.on("/gone", (_, response) => void response.writeHead(404).end());
    const gone = await importInto(tenant, id, { source: { type: "json", url: `${target.url}/gone` } });
    expect(gone).toMatchObject({ status: "failed", errors: [{ line: null, code: "http_status" }] });
    const ssrf = await importInto(tenant, id, { source: { type: "json", url: "http://169.254.169.254/" } });
    expect(ssrf).toMatchObject({ status: "failed", errors: [{ line: null, code: "http_refused" }] });
  });

  it("adds each run as a row once", async () => {
    const project_id = await tenant.deploy(echo());
    const run = async (text: string) =>
      (await tenant.secret.post("/v2/runs", { project_id, inputs: { "in-0": text }, mode: "sync" })).body.run_id;
    const ids = [await run("one"), await run("two")];
    const id = await makeDataset(tenant);
    const body = { source: { type: "runs", filter: { project_id } }, mode: "upsert" };
    expect((await importInto(tenant, id, body)).counts).toMatchObject({ created: 2 });
    expect((await importInto(tenant, id, body)).counts).toMatchObject({ created: 0, skipped: 2 });
    const { data } = (await tenant.secret.get(rowsPath(id), { query: { external_id: ids[0] } })).body;
    expect(data).toMatchObject([
      { inputs: { "in-0": "one" }, expected_outputs: { "out-0": "one" }, source: { type: "run", run_id: ids[0] } },
    ]);
    // Only runs with a low score.
    await tenant.secret.post(`/v2/evals/runs/${ids[1]}/scores`, { name: "help", data_type: "numeric", value: 0.2 });
    await tenant.secret.post(`/v2/evals/runs/${ids[0]}/scores`, { name: "help", data_type: "numeric", value: 0.9 });
    const bad = { type: "runs", filter: { project_id, score: { name: "help", max: 0.5 } } };
    const found = await importInto(tenant, await makeDataset(tenant), { source: bad, dry_run: true });
    expect(found.preview).toMatchObject([{ inputs: { "in-0": "two" } }]);
    const mapping = { inputs: { "in-9": "out-0" } };
    const mapped = await importInto(tenant, id, {
      // RFC 3339 allows offsets that Postgres rejects.
      source: { type: "runs", filter: { project_id, created_after: "0000-01-01T00:00:00+17:37" }, limit: 1 },
      mapping,
      dry_run: true,
    });
    expect(mapped.preview[0]).toMatchObject({ inputs: { "in-9": "two" }, expected_outputs: {} });
  });

  it("csv-formula: exports can be imported again, and a spreadsheet runs no cell of a CSV", async () => {
    const id = await makeDataset(tenant);
    const rows = [
      {
        inputs: { "in-0": "=HYPERLINK(1)", "in-1": 'say "hi",\nplease' },
        expected_outputs: { "out-0": [1, null] },
        external_id: "@x",
      },
      { inputs: { "in-0": "plain" }, metadata: { source: "-1" }, split: "test", tags: ["a", "b"] },
    ];
    await tenant.secret.post(rowsPath(id), { rows });
    const file = async (format: string) =>
      await (await tenant.secret.raw("GET", `/v2/evals/datasets/${id}/export?format=${format}`)).text();
    const [header, ...lines] = (await file("csv")).split("\r\n");
    expect(header).toBe(
      "row_id,external_id,split,tags,status,expected_outputs.out-0,inputs.in-0,inputs.in-1,metadata.source",
    );
    expect(lines.join("\n")).toMatch(/,'@x,,,active,"\[1,null\]",'=HYPERLINK\(1\),"say ""hi"",\nplease",\n/);
    expect(lines.join("\n")).toContain(",'-1");
    const exact = await makeDataset(tenant);
    await importInto(tenant, exact, { source: { type: "jsonl", text: await file("jsonl") } });
    expect(await contentOf(tenant, exact)).toEqual(await contentOf(tenant, id));
    const table = await makeDataset(tenant);
    const imported = await importInto(tenant, table, { source: { type: "csv", text: await file("csv") } });
    expect(imported.counts).toMatchObject({ created: 2, failed: 0 });
    const written = rows.map(({ external_id = null, inputs }) => [external_id, inputs]);
    const read = (await contentOf(tenant, table)) as unknown[][];
    expect(read.map(([external_id, inputs]) => [external_id, inputs])).toEqual(written);
    expect((await tenant.secret.get(rowsPath(table), { query: { split: "test" } })).body.data).toMatchObject([
      { metadata: { source: "-1" } },
    ]);
    // In a CSV file from elsewhere, an apostrophe is part of the text.
    const theirs = await makeDataset(tenant);
    const mapping = { inputs: { "in-0": "q" } };
    await importInto(tenant, theirs, { source: { type: "csv", text: "q\n'=1\n" }, mapping });
    expect(await contentOf(tenant, theirs)).toEqual([[null, { "in-0": "'=1" }, {}]]);
  });

  it("reads rows with empty, null or missing values back unchanged from a CSV export, which opens as UTF-8", async () => {
    const id = await makeDataset(tenant);
    const rows = [
      { inputs: { "in-0": "" }, expected_outputs: { "out-0": null } },
      { inputs: {}, expected_outputs: { "out-0": "null" }, metadata: { note: "é" } },
      { inputs: { "in-0": null, "in-1": "" }, expected_outputs: { "out-0": "" } },
    ];
    await tenant.secret.post(rowsPath(id), { rows });
    const bytes = Buffer.from(
      await (await tenant.secret.raw("GET", `/v2/evals/datasets/${id}/export?format=csv`)).arrayBuffer(),
    );
    expect(bytes.subarray(0, 3)).toEqual(Buffer.from([0xef, 0xbb, 0xbf]));
    const table = await makeDataset(tenant);
    const text = bytes.toString();
    expect(await importInto(tenant, table, { source: { type: "csv", text } })).toMatchObject({
      status: "completed",
      counts: { created: 3, failed: 0 },
    });
    expect(await contentOf(tenant, table)).toEqual(await contentOf(tenant, id));
    // A mapped cell without a value is an empty text, as in other tables.
    const mapped = await makeDataset(tenant);
    await importInto(tenant, mapped, { source: { type: "csv", text }, mapping: { inputs: { q: "inputs.in-1" } } });
    expect(((await contentOf(tenant, mapped)) as unknown[][]).map(([, inputs]) => inputs)).toEqual([
      { q: "" },
      { q: "" },
      { q: "" },
    ]);
  });

  it.each(["append", "upsert", "replace"])(
    "%s fails if no record is a valid row, with and without dry_run",
    async (mode) => {
      const id = await makeDataset(tenant);
      for (const dry_run of [true, false])
        expect(await importInto(tenant, id, csv("id,q,a\nx\ny\n", { mode, dry_run }))).toMatchObject({
          status: "failed",
          version: null,
          counts: { read: 2, created: 0, failed: 2 },
          errors: [{ line: null, code: "nothing_to_import" }, { line: 2, code: "unreadable_record" }, { line: 3 }],
        });
    },
  );

  it("exports every row of any length, and rejects a CSV export with too many columns", async () => {
    const id = await makeDataset(tenant);
    const exported = (format: string) => tenant.secret.get(`/v2/evals/datasets/${id}/export`, { query: { format } });
    // Some rows are so long that a full page of them would be too large.
    const rows = Array.from({ length: 150 }, (_, n) => ({
      inputs: { "in-0": "x".repeat(n === 30 || n >= 100 ? 300_000 : 10) },
      external_id: String(n),
      metadata: Object.fromEntries(Array.from({ length: n < 10 ? 100 : 0 }, (__, m) => [`m${n * 100 + m}`, m])),
    }));
    await importInto(tenant, id, {
      source: { type: "jsonl", text: rows.map((row) => JSON.stringify(row)).join("\n") },
    });
    const { body } = await exported("jsonl");
    const lines = (body as string).trimEnd().split("\n");
    expect(lines.map((line) => JSON.parse(line).external_id)).toEqual(rows.map(({ external_id }) => external_id));
    for (const order of ["asc", "desc"]) {
      const [names, sizes]: [string[], number[]] = [[], []];
      let cursor: string | null = null;
      for (let more = true; more;) {
        const query: Record<string, string> = { order, page_size: "200", ...(cursor === null ? {} : { cursor }) };
        const page = (await tenant.secret.get(rowsPath(id), { query })).body;
        names.push(...page.data.map((row: { external_id: string }) => row.external_id));
        sizes.push(JSON.stringify(page).length);
        ({ cursor, has_more: more } = page);
      }
      expect(names).toEqual(rows.map(({ external_id }) => external_id)[order === "asc" ? "slice" : "toReversed"]());
      expect(Math.max(...sizes)).toBeLessThan(13_000_000);
      expect(sizes.length).toBeGreaterThan(1);
    }
    const refused = await exported("csv");
    expect(refused).toMatchObject({ status: 422, body: { detail: [{ loc: ["query", "format"] }] } });
    const [first] = (await tenant.secret.get(rowsPath(id), { query: { external_id: "0" } })).body.data;
    const metadata = Object.fromEntries(Object.keys(first.metadata).map((name) => [name, null]));
    await tenant.secret.patch(`${rowsPath(id)}/${first.row_id}`, { metadata });
    const [header = "", ...table] = (await exported("csv")).body.trimEnd().split("\r\n");
    expect([header.split(",").length, table.length]).toEqual([5 + 1 + 900, 150]);
    const unfinished = await tenant.secret.raw("GET", `/v2/evals/datasets/${id}/export?format=jsonl`);
    expect((await tenant.secret.delete(`/v2/evals/datasets/${id}`)).status).toBe(204);
    await expect(unfinished.text(), "what is left of it does not look whole").rejects.toThrow();
  });

  it("rejects a source without content or with two contents", async () => {
    const id = await makeDataset(tenant);
    const post = (body: unknown) => tenant.secret.post(`/v2/evals/datasets/${id}/imports`, body);
    expect((await post({ source: { type: "csv" } })).status).toBe(422);
    expect((await post({ source: { type: "csv", text: "a", url: "https://x.test" } })).status).toBe(422);
    expect((await post({ source: { type: "runs", filter: { project_id: randomUUID() } } })).status).toBe(404);
    const empty = await importInto(tenant, id, { source: { type: "csv", text: "\n" } });
    expect(empty).toMatchObject({ status: "failed", errors: [{ line: null, code: "unreadable_file" }] });
  });
});
