import { readFile } from "node:fs/promises";
import { uuidv7 } from "uuidv7";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { restartResource } from "../../../src/stores/knowledge/resource-ingest.ts";
import { buildPdf } from "../../fixtures/documents/pdf.ts";
import { buildScan, drawText } from "../../fixtures/documents/scan.ts";
import { startHttpTarget, type HttpTarget } from "../../support/http-target.ts";
import { openTenant, problemText, type ApiTenant } from "../tenant.ts";
import { create, KEYWORDS } from "./bases.ts";
import { makeBase, resourcesPath, settled, upload } from "./knowledge-bases.ts";

let tenant: ApiTenant;
let other: ApiTenant;
let base: string;
let path: string;
let target: HttpTarget;

beforeAll(async () => {
  tenant = await openTenant();
  other = await openTenant();
  base = await makeBase(tenant, {
    topic: { type: "string", description: "", order: 0, options: ["mills", "rivers"] },
    year: { type: "number", description: "", order: 1 },
  });
  path = resourcesPath(base);
  target = await startHttpTarget();
});
afterAll(() => target.close());

interface StoredChunk {
  readonly text: string;
  readonly context: string;
  readonly char_start: number;
  readonly char_end: number;
  readonly page_start: number | null;
}

/** The searchable chunks of a document. */
function chunksOf(resourceId: string): Promise<StoredChunk[]> {
  return tenant.withDatabase((database) =>
    database.org(tenant.org_id, (db) =>
      db.query<StoredChunk & Record<string, unknown>>(
        `select c.text, c.context, c.char_start, c.char_end, c.page_start from knowledge_chunks c
         join knowledge_index_resources x using (index_no, resource_id, revision) where resource_id = $1 order by chunk_index`,
        [resourceId],
      ),
    ),
  );
}

/** Types of the events of a document. */
function eventsOf(resourceId: string): Promise<string[]> {
  return tenant.withDatabase((database) =>
    database.system(async (db) => {
      const rows = await db.query<{ type: string }>(
        "select type from outbox where data->>'resource_id' = $1 order by seq",
        [resourceId],
      );
      return rows.map(({ type }) => type);
    }),
  );
}

async function add(body: unknown): Promise<string> {
  const answer = await tenant.secret.post(path, body);
  expect(answer.status, JSON.stringify(answer.body)).toBe(202);
  return answer.body.resource_id;
}

const GUIDE = `# Mills\n\nA mill grinds grain between two stones. ${"The wheel turns as long as the river runs. ".repeat(8)}\n\n## Races\n\nThe race leads water to the wheel.\n`;

describe("documents of a knowledge base", () => {
  it("are read from pictures and scanned pages, with page numbers, if character recognition is on", async () => {
    const scan = drawText(["The mill grinds grain"], "image/jpeg");
    const refused = await tenant.secret.post(path, upload("scan.jpg", scan));
    expect(refused.status).toBe(415);
    const scans = await create(tenant, { indexing_params: { ...KEYWORDS, ocr: true } });
    const added = await Promise.all([
      tenant.secret.post(`${scans.path}/resources`, upload("scan.jpg", scan)),
      tenant.secret.post(`${scans.path}/resources`, upload("scan.pdf", buildScan(["First", { scan }]))),
    ]);
    for (const { status, body } of added) {
      expect(status).toBe(202);
      const resource = await settled(tenant, scans.body.knowledge_base_id, body.resource_id);
      expect(resource).toMatchObject({ status: "indexed", text: expect.stringMatching(/The mill grinds grain/) });
    }
    const found = await tenant.secret.post(`${scans.path}/query`, { query: "grinds" });
    const pages = found.body.results.map((result: { page_end: number | null }) => result.page_end);
    expect(new Set(pages)).toEqual(new Set([null, 2]));
  });

  it("are indexed from an upload: text, chunks with positions and headings, and an event", async () => {
    const fields = { user_metadata: '{"topic":"mills","year":1790}', external_id: "guide" };
    const answer = await tenant.secret.post(path, upload("guide.md", GUIDE, fields));
    expect(answer.status).toBe(202);
    expect(answer.body).toEqual({ message: expect.any(String), resource_id: expect.any(String), status: "pending" });
    const resource = await settled(tenant, base, answer.body.resource_id);
    expect(resource).toMatchObject({
      knowledge_base_id: base,
      resource_path: "guide.md",
      source: "upload",
      external_id: "guide",
      status: "indexed",
      error: null,
      content_mime: "text/markdown",
      size: GUIDE.length,
      user_metadata: { topic: "mills", year: 1790 },
      text: GUIDE,
    });
    const chunks = await chunksOf(resource.resource_id);
    expect(chunks.length).toBe(resource.chunk_count);
    expect(chunks.length).toBeGreaterThan(2);
    for (const { text, char_start, char_end } of chunks) expect(GUIDE.slice(char_start, char_end)).toBe(text);
    expect(chunks.map(({ context }) => context)).toContain("Mills");
    expect(await eventsOf(resource.resource_id)).toEqual(["knowledge_base.resource.indexed"]);
  });

  it.each([
    ["a.txt", "Plain words about weirs.", "text/plain"],
    ["a.html", `<h1>Weirs</h1><p>${"Words of a page. ".repeat(20)}</p>`, "text/html"],
    ["a.csv", "name,height\nweir,2\n", "text/csv"],
    ["a.json", '{"weir": "A low dam."}', "application/json"],
    ["a.pdf", buildPdf(["A weir is a low dam.", "It holds water."]), "application/pdf"],
  ])("are read from %s", async (name, bytes, mime) => {
    const { body } = await tenant.secret.post(path, upload(name, bytes));
    const resource = await settled(tenant, base, body.resource_id);
    expect(resource).toMatchObject({
      status: "indexed",
      content_mime: mime,
      page_count: mime.endsWith("pdf") ? 2 : null,
    });
    const [chunk] = await chunksOf(resource.resource_id);
    expect(chunk?.page_start).toBe(mime.endsWith("pdf") ? 1 : null);
    expect(resource.text.toLowerCase()).toContain("weir");
  });

  it("are listed in the order of the request that added them", async () => {
    const names = [
      "ordered/e.txt",
      "ordered/b.txt",
      "ordered/d.txt",
      "ordered/a.txt",
      "ordered/f.txt",
      "ordered/c.txt",
    ];
    const { body } = await tenant.secret.post(path, { resources: names.map((name) => ({ name, text: name })) });
    const query = { path_prefix: "ordered/", order: "asc" };
    const { data } = (await tenant.secret.get(path, { query })).body;
    expect(data.map((each: { resource_path: string }) => each.resource_path)).toEqual(names);
    const idsIn = (list: { resource_id: string }[]) => list.map(({ resource_id }) => resource_id);
    expect(idsIn(data)).toEqual(idsIn(body.resources));
  });

  it("are added from texts and URLs, one or several, and none if one of them is invalid", async () => {
    target.on("/page", (_, response) => {
      response
        .writeHead(200, { "content-type": "text/html" })
        .end("<title>Sluices</title><p>A sluice lets water pass.</p>");
    });
    const url = `${target.url}/page`;
    const { status, body } = await tenant.secret.post(path, {
      resources: [{ url }, { text: "A sluice is a gate.", name: "notes/sluice.txt" }],
    });
    expect(status).toBe(202);
    const [page, note] = await Promise.all(
      body.resources.map((each: { resource_id: string }) => settled(tenant, base, each.resource_id)),
    );
    expect(page).toMatchObject({
      status: "indexed",
      source: "url",
      source_url: url,
      resource_path: url,
      content_mime: "text/html",
    });
    expect(page.text).toContain("A sluice lets water pass.");
    expect(note).toMatchObject({ status: "indexed", source: "text", resource_path: "notes/sluice.txt" });
    const refused = await tenant.secret.post(path, {
      resources: [
        { text: "Never kept.", name: "never.txt" },
        { text: "x", name: "y", user_metadata: { topic: "boats" } },
      ],
    });
    expect(refused.status).toBe(422);
    expect(refused.body.detail[0].loc).toEqual(["body", "resources", 1, "user_metadata", "topic"]);
    expect((await tenant.secret.get(path, { query: { path_prefix: "never" } })).body.data).toEqual([]);
    const { data } = (await tenant.secret.get(path, { query: { path_prefix: "notes/", status: "indexed" } })).body;
    expect(data.map((each: { resource_path: string }) => each.resource_path)).toEqual(["notes/sluice.txt"]);
    expect(
      (await tenant.secret.get(path, { query: { external_id: "guide", mime: "text/markdown" } })).body.data.length,
    ).toBe(1);
  });

  it("report why they cannot be indexed, and the others are still indexed", async () => {
    target.on("/gone", (_, response) => void response.writeHead(404).end("no"));
    const encrypted = await readFile(new URL("../../fixtures/documents/encrypted.pdf", import.meta.url));
    const locked = (await tenant.secret.post(path, upload("locked.pdf", encrypted))).body.resource_id;
    const gone = await add({ url: `${target.url}/gone` });
    const fine = await add({ text: "Nothing is wrong here.", name: "fine.txt" });
    expect(await settled(tenant, base, locked)).toMatchObject({
      status: "error",
      error: { code: "document_encrypted", message: expect.stringMatching(/password/) },
      text: null,
    });
    expect(await settled(tenant, base, gone)).toMatchObject({ status: "error", error: { code: "http_status" } });
    expect((await settled(tenant, base, fine)).status).toBe("indexed");
    expect(await eventsOf(locked)).toEqual(["knowledge_base.resource.failed"]);
    const { data } = (await tenant.secret.get(path, { query: { status: "error" } })).body;
    const { body: several } = await tenant.secret.get(`${path}?status=error&status=indexed`);
    const newest = several.data.slice(0, 3).map((each: { resource_id: string }) => each.resource_id);
    expect(newest).toEqual([fine, gone, locked]);
    expect((await tenant.secret.get(`${path}?status=pending&status=resource`)).body.data).toEqual([]);
    expect((await tenant.secret.get(`${path}?status=error&status=gone`)).status).toBe(422);
    expect(data.map((each: { resource_id: string }) => each.resource_id)).toEqual([gone, locked]);
  });

  it("are retried after a failure when they are added again", async () => {
    let isThere = false;
    target.on("/late", (_, response) => void response.writeHead(isThere ? 200 : 404).end("A late page about fords."));
    const url = `${target.url}/late`;
    const id = await add({ url });
    expect((await settled(tenant, base, id)).status).toBe("error");
    isThere = true;
    const again = await tenant.secret.post(path, { url });
    expect(again.body).toMatchObject({ resource_id: id, status: "pending" });
    expect(await settled(tenant, base, id)).toMatchObject({ status: "indexed", error: null });
    // A document that is indexed is not indexed again.
    expect((await tenant.secret.post(path, { url })).body).toMatchObject({ resource_id: id, status: "indexed" });
    const broken = upload("broken.pdf", "%PDF-1.4 nothing follows");
    const first = (await tenant.secret.post(path, broken)).body.resource_id;
    expect((await settled(tenant, base, first)).status).toBe("error");
    expect((await tenant.secret.post(path, upload("broken.pdf", "%PDF-1.4 nothing follows"))).body).toMatchObject({
      resource_id: first,
      status: "pending",
    });
    await settled(tenant, base, first);
  });

  it("get metadata from their content and server, declared fields too, and can be filtered by it", async () => {
    const declared = {
      properties: { department: { type: "string" }, chapters: { type: "number" }, reviewed: { type: "boolean" } },
    };
    const { path: of, body } = await create(tenant, { dataloader_metadata_schema: declared });
    const head = `<title>On fords</title><meta name="author" content="Ada Weir"><meta name="department" content="Rivers"><meta name="chapters" content="12"><meta name="reviewed" content="soon">`;
    target.on("/fords", (_, response) => {
      const headers = {
        "content-type": "text/html; charset=utf-8",
        "last-modified": "Wed, 01 Jan 2025 10:00:00 GMT",
      };
      response
        .writeHead(200, headers)
        .end(`<html><head>${head}</head><body><h1>Fords</h1><p>A ford is shallow.</p></body></html>`);
    });
    const page = await tenant.secret.post(`${of}/resources`, { url: `${target.url}/fords` });
    const pdf = buildPdf(["A bridge is dry."], { information: "<< /Title (On bridges) /CreationDate (D:20240301) >>" });
    const file = await tenant.secret.post(`${of}/resources`, upload("bridges.pdf", pdf));
    const said = async (id: string) => (await settled(tenant, body.knowledge_base_id, id)).dataloader_metadata;
    expect(await said(page.body.resource_id)).toEqual({
      title: "On fords",
      author: "Ada Weir",
      department: "Rivers",
      chapters: 12,
      modified: "2025-01-01T10:00:00.000Z",
    });
    expect(await said(file.body.resource_id)).toEqual({ title: "On bridges", created: "2024-03-01T00:00:00.000Z" });
    const fields = (await tenant.secret.get(`${of}/metadata-schemas`)).body.dataloader_metadata_schema.properties;
    expect(Object.keys(fields)).toEqual(expect.arrayContaining(["title", "author", "created", "modified", "chapters"]));
    expect((await tenant.secret.get(of)).body.dataloader_metadata_schema.properties).not.toHaveProperty("title");
    const find = async (filter: object) => {
      const answer = await tenant.secret.post(`${of}/query`, { query: "ford bridge", filter });
      expect(answer.status, JSON.stringify(answer.body)).toBe(200);
      return answer.body.results;
    };
    const [ford] = await find({ field: "author", op: "contains", value: "Weir" });
    expect(ford.metadata).toMatchObject({ title: "On fords", headings: ["Fords"] });
    expect(await find({ field: "modified", op: "gte", value: "2025-01-01" })).toHaveLength(1);
    expect(await find({ field: "chapters", op: "gt", value: 12 })).toEqual([]);
    // A content type matches with any parameters.
    for (const value of ["text/html", "text/html; charset=iso-8859-1"])
      expect(await find({ field: "content_mime", op: "eq", value })).toHaveLength(1);
    expect(await find({ field: "content_mime", op: "in", value: ["text/html", "text/csv"] })).toHaveLength(1);
    expect(await find({ field: "content_mime", op: "ne", value: "text/html" })).toHaveLength(1);
    const listed = (await tenant.secret.get(`${of}/resources`, { query: { mime: "text/html" } })).body.data;
    expect(listed).toMatchObject([{ content_mime: "text/html; charset=utf-8" }]);
  });

  it("are replaced by external_id, and the old text stays searchable until the new one is indexed", async () => {
    const first = await add({ text: "The first edition.", name: "book.txt", external_id: "book" });
    await settled(tenant, base, first);
    const again = await tenant.secret.post(path, { text: "The first edition.", name: "book.txt", external_id: "book" });
    expect(again.body).toMatchObject({ resource_id: first, status: "indexed" });
    const second = await tenant.secret.post(path, {
      text: "The second edition.",
      name: "book.txt",
      external_id: "book",
    });
    expect(second.body).toMatchObject({ resource_id: first, status: "pending" });
    expect((await settled(tenant, base, first)).text).toBe("The second edition.");
    expect((await chunksOf(first)).map(({ text }) => text)).toEqual(["The second edition."]);
    const rules = { text: "The third edition.", name: "book.txt", external_id: "book" };
    expect((await tenant.secret.post(path, { ...rules, on_duplicate: "error" })).status).toBe(409);
    expect((await tenant.secret.post(path, { ...rules, on_duplicate: "skip" })).body).toMatchObject({
      resource_id: first,
      status: "indexed",
    });
    expect((await tenant.secret.get(`${path}/${first}`, { query: { expand: "text" } })).body.text).toBe(
      "The second edition.",
    );
  });

  it("are recognised by the same content", async () => {
    const first = await add({ text: "Said once.", name: "once.txt" });
    const form = (): FormData => upload("copy.txt", "Said once.");
    expect((await tenant.secret.post(path, form())).body.resource_id).toBe(first);
    expect((await tenant.secret.post(path, upload("copy.txt", "Said once.", { on_duplicate: "error" }))).status).toBe(
      409,
    );
    // With its own external ID, it is another document.
    const named = await tenant.secret.post(path, upload("copy.txt", "Said once.", { external_id: "copy" }));
    expect(named.body.resource_id).not.toBe(first);
  });

  it.each([
    [
      "texts",
      () => ({
        resources: [
          { text: "One of them.", name: "1" },
          { text: "Two of them.", name: "2" },
        ],
      }),
    ],
    ["a file", (text = "A file, once.") => upload("once.txt", text, { external_id: "once" })],
  ])(
    "are added once per Idempotency-Key if sent as %s, and the first response is returned again",
    async (what, body) => {
      const headers = { "idempotency-key": `resources-${uuidv7()}` };
      const first = await tenant.secret.post(path, body(), { headers });
      expect([first.status, first.headers.get("idempotent-replayed")]).toEqual([202, null]);
      const ids: string[] = (first.body.resources ?? [first.body]).map(
        (each: { resource_id: string }) => each.resource_id,
      );
      for (const id of ids) await settled(tenant, base, id);
      const again = await tenant.secret.post(path, body(), { headers });
      expect([again.status, again.body, again.headers.get("idempotent-replayed")]).toEqual([202, first.body, "true"]);
      // A repeated request does not recreate documents that were deleted since.
      for (const id of ids) expect((await tenant.secret.delete(`${path}/${id}`)).status).toBe(204);
      expect((await tenant.secret.post(path, body(), { headers })).body).toEqual(first.body);
      for (const id of ids) expect((await tenant.secret.get(`${path}/${id}`)).status).toBe(404);
      const other = what === "texts" ? { text: "Another.", name: "3" } : body("Another file.");
      const refused = await tenant.secret.post(path, other, { headers });
      expect([refused.status, refused.body.code]).toEqual([409, "idempotency_conflict"]);
    },
  );

  it("are indexed again if the process that indexed them died", async () => {
    const id = await add({ text: "Left in the middle.", name: "left.txt" });
    await settled(tenant, base, id);
    // Starts a new revision without a workflow.
    const revision = await tenant.withDatabase((database) =>
      database.org(tenant.org_id, (db) => restartResource(db, id)),
    );
    expect(revision).toBe(1);
    expect(await settled(tenant, base, id)).toMatchObject({ status: "indexed", text: "Left in the middle." });
    expect((await chunksOf(id)).length).toBe(1);
  });

  it("can have their metadata changed without being read again", async () => {
    const options = { user_metadata: { topic: "mills", year: 1790 } };
    const id = await add({ text: "Pentstocks carry water.", name: "pentstock.txt", ...options });
    const before = await settled(tenant, base, id);
    const one = `${path}/${id}`;
    const etag = (await tenant.secret.get(one)).headers.get("etag") ?? "";
    const changed = await tenant.secret.patch(
      one,
      { user_metadata: { topic: "rivers" } },
      { headers: { "if-match": etag } },
    );
    expect([changed.status, changed.body]).toMatchObject([
      200,
      {
        user_metadata: { topic: "rivers", year: 1790 },
        status: "indexed",
        indexed_at: before.indexed_at,
        chunk_count: 1,
      },
    ]);
    expect(changed.headers.get("etag")).toBe((await tenant.secret.get(one)).headers.get("etag"));
    const stale = await tenant.secret.patch(one, { name: "late.txt" }, { headers: { "if-match": etag } });
    expect([stale.status, stale.body.code]).toEqual([412, "precondition_failed"]);
    const find = async (value: string) =>
      (
        await tenant.secret.post(`/v2/knowledge-bases/${base}/query`, {
          query: "pentstocks",
          filter: { field: "topic", op: "eq", value },
        })
      ).body.results;
    expect(await find("mills")).toEqual([]);
    expect(await find("rivers")).toMatchObject([{ metadata: { topic: "rivers" } }]);
    // Two concurrent changes both take effect, and null removes a field.
    const both = await Promise.all([
      tenant.secret.patch(one, { user_metadata: { year: null } }),
      tenant.secret.patch(one, { user_metadata: { topic: "mills" } }),
      tenant.secret.patch(one, { name: "penstock.txt" }),
    ]);
    expect(both.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect((await tenant.secret.get(one)).body).toMatchObject({
      resource_path: "penstock.txt",
      user_metadata: { topic: "mills" },
    });
    expect((await tenant.secret.get(one)).body.user_metadata).not.toHaveProperty("year");
    for (const [body, loc] of [
      [{ user_metadata: { topic: "boats" } }, ["body", "user_metadata", "topic"]],
      [{ user_metadata: { height: 1 } }, ["body", "user_metadata", "height"]],
      [{ text: "new" }, ["body"]],
      [{ name: "" }, ["body", "name"]],
    ] as const) {
      const refused = await tenant.secret.patch(one, body);
      expect([refused.status, refused.body.detail[0].loc.slice(0, loc.length)]).toEqual([422, loc]);
    }
    expect((await tenant.public.patch(one, {})).status).toBe(403);
    expect((await (await tenant.user("viewer")).patch(one, {})).status).toBe(403);
    expect((await other.secret.patch(one, {})).status).toBe(404);
    expect((await tenant.secret.patch(`${path}/${uuidv7()}`, {})).status).toBe(404);
  });

  it("can be downloaded in the original, whole or in part", async () => {
    const bytes = Buffer.from("0123456789".repeat(1000));
    const { body } = await tenant.secret.post(path, upload('../e\u0301t\u00e9 "x".txt', bytes));
    const get = (headers: Record<string, string> = {}): Promise<Response> =>
      fetch(`${tenant.target.url}${path}/${body.resource_id}/download`, {
        headers: { authorization: `Bearer ${tenant.secretKey}`, ...headers },
      });
    const whole = await get();
    expect(whole.status).toBe(200);
    expect(Buffer.from(await whole.arrayBuffer()).equals(bytes)).toBe(true);
    expect(whole.headers.get("content-disposition")).toMatch(
      /^attachment; filename="[^/\r\n]*"; filename\*=UTF-8''[^/\s]*$/,
    );
    expect(whole.headers.get("x-content-type-options")).toBe("nosniff");
    for (const [range, from, to] of [
      ["bytes=0-9", 0, 10],
      ["bytes=9990-", 9990, 10_000],
      ["bytes=-5", 9995, 10_000],
      ["bytes=9000-99999", 9000, 10_000],
    ] as const) {
      const part = await get({ range });
      expect(part.status).toBe(206);
      expect(part.headers.get("content-range")).toBe(`bytes ${from}-${to - 1}/10000`);
      expect(await part.text()).toBe(bytes.subarray(from, to).toString());
    }
    const outside = await get({ range: "bytes=10000-" });
    expect(outside.status).toBe(416);
    expect(outside.headers.get("content-range")).toBe("bytes */10000");
    expect((await get({ range: "lines=1-2" })).status).toBe(200);
  });

  it("keep every name: in uploads, lists, ranges and both kinds of download", async () => {
    const names: readonly (readonly [name: string, likeness: string])[] = [
      ["café.txt", "cafe.txt"],
      ["cafe\u0301 2.txt", "cafe 2.txt"],
      ["日本語.txt", "___.txt"],
      ['die "große" Liste.txt', "die _gro_e_ Liste.txt"],
      ["it's 100%25 (v2); a=b.txt", "it's 100_25 (v2); a=b.txt"],
      ["back\\slash.txt", "back_slash.txt"],
      ["\u{1F600}\u{1F468}\u200d\u{1F469}.txt", "____.txt"],
      ["שלום דוח.txt", "____ ___.txt"],
      [`${"ü".repeat(250)}.txt`, `${"u".repeat(250)}.txt`],
      ["plain name.txt", "plain name.txt"],
    ];
    for (const [index, [name, likeness]] of names.entries()) {
      const { body } = await tenant.secret.post(path, upload(name, `A text of its own, number ${index}.`));
      const resource = `${path}/${body.resource_id}`;
      expect((await tenant.secret.get(resource)).body.resource_path).toBe(name);
      const { data } = (await tenant.secret.get(`${path}?path_prefix=${encodeURIComponent(name)}`)).body;
      expect(data.map((each: { resource_path: string }) => each.resource_path)).toEqual([name]);
      const star = encodeURIComponent(name).replace(/['()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
      const named = `filename="${likeness}"${name === likeness ? "" : `; filename*=UTF-8''${star}`}`;
      for (const [query, headers, kind] of [
        ["", {}, "attachment"],
        ["?disposition=inline", {}, "inline"],
        ["?disposition=inline", { range: "bytes=0-1" }, "inline"],
      ] as const) {
        const answer = await fetch(`${tenant.target.url}${resource}/download${query}`, {
          headers: { authorization: `Bearer ${tenant.secretKey}`, ...headers },
        });
        expect(answer.headers.get("content-disposition")).toBe(`${kind}; ${named}`);
      }
    }
  });

  it("are rejected in a form for the same reasons as in JSON", async () => {
    const refusal = async (user_metadata: string): Promise<unknown> => {
      const form = upload("form.txt", "A text with metadata.");
      form.append("user_metadata", user_metadata);
      const { status, body } = await tenant.secret.post(path, form);
      return [status, body.detail?.[0]?.loc];
    };
    for (const member of ['"topic":"\\ud800"', '"topic":"a\\u0000"', '"topic\\udc00":"x"', '"__proto__":{"x":1}']) {
      const json = `{"text":"x","name":"json.txt","user_metadata":{${member}}}`;
      const { status, body } = await tenant.secret.post(path, json, {
        headers: { "content-type": "application/json" },
      });
      expect(status, member).toBe(422);
      expect(await refusal(`{${member}}`)).toEqual([422, body.detail[0].loc]);
    }
    const [status] = (await refusal(`{"topic":${"[".repeat(101)}${"]".repeat(101)}}`)) as [number];
    expect(status).toBe(422);
  });

  it("content-confusion: are shown inline only if requested and not a web page, and are downloaded otherwise", async () => {
    const pdf = Buffer.from(
      "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Count 0/Kids[]>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF",
    );
    const cases = [
      ["shown.txt", "<script>alert(1)</script>", "inline", "text/plain; charset=utf-8"],
      ["shown.md", "# Title", "inline", "text/plain; charset=utf-8"],
      ["shown.pdf", pdf, "inline", "application/pdf"],
      ["named.html", "<script>alert(1)</script>", "inline", "text/plain; charset=utf-8"],
      ["page.html", "<!doctype html><html><body><script>alert(1)</script></body></html>", "attachment", "text/html"],
    ] as const;
    for (const [name, bytes, disposition, type] of cases) {
      const { body } = await tenant.secret.post(path, upload(name, bytes));
      const get = (query: string): Promise<Response> =>
        fetch(`${tenant.target.url}${path}/${body.resource_id}/download${query}`, {
          headers: { authorization: `Bearer ${tenant.secretKey}` },
        });
      const { headers } = await get("?disposition=inline");
      expect([name, headers.get("content-disposition")?.split(";")[0]]).toEqual([name, disposition]);
      expect(headers.get("content-type")).toContain(type);
      expect(headers.get("x-content-type-options")).toBe("nosniff");
      const policy = headers.get("content-security-policy") ?? "";
      expect(policy).toContain("default-src 'none'");
      expect(policy.includes("sandbox")).toBe(disposition === "inline" && type !== "application/pdf");
      expect((await get("")).headers.get("content-disposition")).toMatch(/^attachment/);
    }
    expect((await tenant.secret.get(`${path}/${uuidv7()}/download?disposition=frame`)).status).toBe(422);
  });

  it("are deleted with all their data", async () => {
    const id = await add({ text: "Soon forgotten.", name: "forgotten.txt" });
    await settled(tenant, base, id);
    expect((await other.secret.delete(`${path}/${id}`)).status).toBe(404);
    expect((await tenant.secret.delete(`${path}/${id}`)).status).toBe(204);
    expect(await chunksOf(id)).toEqual([]);
    expect((await tenant.secret.delete(`${path}/${id}`)).status).toBe(404);
    expect((await tenant.secret.get(`${path}/${id}`)).status).toBe(404);
    expect((await tenant.secret.get(`${path}/${id}/download`)).status).toBe(404);
  });

  it.each([
    [{}, ["body"]],
    [{ url: "ftp://example.com/" }, ["body", "url"]],
    [{ url: "https://example.com/", text: "both", name: "x" }, ["body"]],
    [{ text: "no name" }, ["body", "name"]],
    [{ resources: [] }, ["body", "resources"]],
    [{ resources: [{ text: "x", name: "y" }], name: "z" }, ["body", "resources"]],
    [{ text: "x", name: "y", on_duplicate: "maybe" }, ["body", "on_duplicate"]],
    [{ text: "x", name: "y", user_metadata: { height: 1 } }, ["body", "user_metadata", "height"]],
    [{ text: "x", name: "y", user_metadata: { year: "1790" } }, ["body", "user_metadata", "year"]],
    [{ text: "x", name: "y", user_metadata: { year: 2 ** 53 } }, ["body", "user_metadata", "year"]],
  ])("are rejected if the request is %j", async (body, loc) => {
    const answer = await tenant.secret.post(path, body);
    expect(answer.status).toBe(422);
    expect(answer.body.detail[0].loc).toEqual(loc);
  });

  it("are rejected in malformed uploads, content-confusion included", async () => {
    expect((await tenant.secret.post(path, upload("a.exe", "MZ\u0090\u0000"))).status).toBe(415);
    expect((await tenant.secret.post(path, upload("a.txt", ""))).status).toBe(422);
    const wrong = await tenant.secret.post(path, upload("a.txt", "x", { user_metadata: "{" }));
    expect(wrong.body.detail[0].loc).toEqual(["body", "user_metadata"]);
    expect((await tenant.secret.post(path, upload("a.txt", "x", { user_metadata: '{"year":true}' }))).status).toBe(422);
    expect((await tenant.secret.post(path, upload("a.txt", "x", { surprise: "1" }))).status).toBe(422);
    // A JSON body that looks like the server's record of an uploaded file is not a file.
    const posing = { file: { filepath: "/etc/passwd", originalFilename: "passwd", size: 1 } };
    expect((await tenant.secret.post(path, posing)).status).toBe(422);
  });

  it("belong to one organisation, and are not accessible to public keys", async () => {
    const id = await add({ text: "Ours alone.", name: "ours.txt" });
    for (const each of [path, `${path}/${id}`, `${path}/${id}/download`]) {
      expect((await tenant.public.get(each)).status).toBe(403);
      const theirs = await other.secret.get(each);
      expect(theirs.status).toBe(404);
      const nowhere = await other.secret.get(each.replace(base, uuidv7()));
      expect(problemText(theirs)).toBe(problemText(nowhere));
      const { status } = await fetch(`${tenant.target.url}${each}`);
      expect(status).toBe(401);
    }
    expect((await tenant.public.post(path, { text: "x", name: "y" })).status).toBe(403);
    expect((await other.secret.post(path, { text: "x", name: "y" })).status).toBe(404);
    expect((await other.secret.post(path, upload("a.txt", "x"))).status).toBe(404);
    expect((await (await tenant.user("viewer")).post(path, { text: "x", name: "y" })).status).toBe(403);
  });
});
