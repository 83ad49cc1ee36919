import { beforeAll, describe, expect, it } from "vitest";
import type { Answer, TestClient } from "../../support/client.ts";
import { checkedClient } from "../http/conformance.ts";
import { startInProcess } from "../in-process.ts";
import { openTenant, type ApiTenant } from "../tenant.ts";
import { places } from "../webhooks/webhooks.ts";
import { create, index, KEYWORDS, PATH } from "./bases.ts";

const UNKNOWN = `${PATH}/0197f0a0-0000-7000-8000-000000000000`;

let mine: ApiTenant;
let others: ApiTenant;
let viewer: TestClient;
beforeAll(async () => {
  [mine, others] = await Promise.all([openTenant(), openTenant()]);
  viewer = await mine.user("viewer");
});

describe("creating a knowledge base", () => {
  it("requires only a name", async () => {
    const created = await mine.secret.post(PATH, { name: " Handbook " });
    expect([created.status, created.body]).toEqual([
      201,
      {
        knowledge_base_id: expect.any(String),
        name: "Handbook",
        description: "",
        connection_id: null,
        connection_source_ids: [],
        website_sources: [],
        indexing_params: {
          ocr: false,
          // If the local model is installed, it is the default.
          embedding_params: { embedding_model: expect.toBeOneOf(["local", null]) },
          chunker_params: { chunk_size: 1500, chunk_overlap: 500, chunker_type: "sentence" },
        },
        is_empty: true,
        total_size: 0,
        total_files: 0,
        total_indexed_files: 0,
        total_error_files: 0,
        last_synced_at: null,
        user_metadata_schema: { properties: {} },
        dataloader_metadata_schema: { properties: {} },
        sync: {
          schedule_cron: null,
          status: "idle",
          last_sync_id: null,
          last_error: null,
          next_times: null,
          warnings: [],
        },
        reindex_required: false,
        org_id: mine.org_id,
        created_at: expect.any(String),
        updated_at: expect.any(String),
      },
    ]);
    const path = `${PATH}/${created.body.knowledge_base_id}`;
    expect(created.headers.get("location")).toBe(path);
    const read = await mine.secret.get(path);
    expect([read.body, read.headers.get("etag")]).toEqual([created.body, created.headers.get("etag")]);
    const { body: page } = await viewer.get(PATH, { query: { page_size: 1 } });
    const { next_times: _times, warnings: _warnings, ...listed } = created.body.sync;
    expect(page.data).toEqual([{ ...created.body, sync: listed }]);
  });

  it("happens once per Idempotency-Key", async () => {
    const options = { headers: { "Idempotency-Key": "kb-once" } };
    const first = await mine.secret.post(PATH, { name: "once" }, options);
    const again = await mine.secret.post(PATH, { name: "once" }, options);
    expect([again.status, again.body]).toEqual([201, first.body]);
  });

  it.each([
    [{ name: "" }, [["body", "name"]]],
    [{ chunks: 3 }, [["body", "chunks"]]],
    [
      { indexing_params: { chunker_params: { chunk_size: 300, chunk_overlap: 300 } } },
      [["body", "indexing_params", "chunker_params", "chunk_overlap"]],
    ],
    [
      { indexing_params: { chunker_params: { chunker_type: "words" } } },
      [["body", "indexing_params", "chunker_params", "chunker_type"]],
    ],
    [
      { indexing_params: { embedding_params: { embedding_model: "no-such-endpoint" } } },
      [["body", "indexing_params", "embedding_params", "embedding_model"]],
    ],
    [
      { user_metadata_schema: { properties: { a: { type: "money" } } } },
      [["body", "user_metadata_schema", "properties", "a", "type"]],
    ],
    [
      { website_sources: [{ source_type: "manual", selected_resources: ["file:///etc/passwd"] }] },
      [["body", "website_sources", 0, "selected_resources", 0]],
    ],
    [{ connection_id: "0197f0a0-0000-7000-8000-000000000000" }, [["body", "connection_id"]]],
    [{ connection_source_ids: ["bucket/prefix"] }, [["body", "connection_source_ids"]]],
  ])("rejects %j", async (members, expected) => {
    expect(places(await mine.secret.post(PATH, { name: "test", ...members }))).toEqual(expected);
  });

  it("model-file: rejects character recognition with a code if its data is not installed", async () => {
    const { databaseUrl } = mine.target;
    const api = await startInProcess({ databaseUrl, env: { MILLRACE_OCR_DATA_DIR: "/nowhere" } });
    try {
      const scans = { name: "scans", indexing_params: { ...KEYWORDS, ocr: true } };
      const { status, body } = await checkedClient({ ...mine.target, url: api.url }, mine.secretKey).post(PATH, scans);
      expect([status, body.detail]).toMatchObject([
        422,
        [
          {
            loc: ["body", "indexing_params", "ocr"],
            type: "ocr_not_configured",
            msg: expect.stringMatching(/nowhere/),
          },
        ],
      ]);
    } finally {
      await api.close();
    }
  });
});

describe("changing a knowledge base", () => {
  it("changes only the given fields, and rejects an outdated ETag", async () => {
    const { path, body } = await create(mine, { description: "first" });
    const etag = (await mine.secret.get(path)).headers.get("etag") ?? "";
    const headers = { "If-Match": etag };
    const changed = await mine.secret.patch(path, { name: "renamed" }, { headers });
    expect([changed.status, changed.body]).toEqual([200, { ...body, name: "renamed", updated_at: expect.any(String) }]);
    const stale = await mine.secret.patch(path, { name: "again" }, { headers });
    expect([stale.status, stale.body.code, stale.headers.get("etag")]).toEqual([
      412,
      "precondition_failed",
      changed.headers.get("etag"),
    ]);
    expect((await mine.secret.patch(path, {})).headers.get("etag")).toBe(changed.headers.get("etag"));
  });

  it.each([
    [{ chunk_size: 400 }, { chunk_size: 400, chunk_overlap: 133 }],
    [{ chunk_size: 4000 }, { chunk_size: 4000, chunk_overlap: 500 }],
    [{ chunk_overlap: 0 }, { chunk_size: 1500, chunk_overlap: 0 }],
  ])("accepts chunker_params %j without other settings", async (chunker_params, expected) => {
    const indexing_params = { ...KEYWORDS, chunker_params };
    const created = await create(mine, { indexing_params });
    expect(created.body.indexing_params.chunker_params).toMatchObject(expected);
    const { path } = await create(mine);
    const changed = await mine.secret.patch(path, { indexing_params: { chunker_params } });
    expect(changed.body.indexing_params.chunker_params).toMatchObject(expected);
  });

  it("reports that documents need reindexing after a settings change, unless there are none", async () => {
    const { path, body } = await create(mine);
    const settings = { indexing_params: { chunker_params: { chunk_size: 900 } } };
    const empty = await mine.secret.patch(path, settings);
    expect(empty.body).toMatchObject({
      reindex_required: false,
      indexing_params: { ...KEYWORDS, chunker_params: { chunk_size: 900, chunk_overlap: 500 } },
    });
    await index(mine, body.knowledge_base_id, ["Something."], { path: "a.txt" });
    const filled = await mine.secret.patch(path, { indexing_params: { chunker_params: { chunk_size: 1000 } } });
    expect(filled.body).toMatchObject({ reindex_required: true, is_empty: false, total_files: 1 });
    const found = await mine.secret.post(`${path}/query`, { query: "something" });
    expect(found.body.results).toHaveLength(1);
    expect((await mine.secret.patch(path, settings)).body.reindex_required).toBe(false);
    const unfit = { indexing_params: { chunker_params: { chunk_size: 400, chunk_overlap: 400 } } };
    expect(places(await mine.secret.patch(path, unfit))).toEqual([
      ["body", "indexing_params", "chunker_params", "chunk_overlap"],
    ]);
  });
});

describe("querying a knowledge base", () => {
  let path: string;
  let refunds: string;
  beforeAll(async () => {
    const schema = { properties: { year: { type: "number" }, topic: { type: "string" } } };
    const base = await create(mine, { user_metadata_schema: schema });
    path = base.path;
    const id = base.body.knowledge_base_id;
    const texts = ["Refunds are paid within ten days.", "A refund needs the receipt.", "The shop opens at nine."];
    refunds = await index(mine, id, texts, { path: "refunds.txt", user_metadata: { year: 2026 } });
    await index(mine, id, ["Parcels are refunded when lost."], { path: "parcels.txt", user_metadata: { year: 2020 } });
  });

  it("finds documents by words, with positions, scores and highlights", async () => {
    const { status, body } = await viewer.post(`${path}/query`, { query: "receipt for a refund", neighbors: 1 });
    expect([status, body]).toMatchObject([
      200,
      { query: "receipt for a refund", strategy_used: "keyword", filter_report: { matched_resources: 2 } },
    ]);
    const [first] = body.results;
    expect(first).toMatchObject({
      resource_id: refunds,
      resource_path: "refunds.txt",
      text: "A refund needs the receipt.",
      rank: 1,
      chunk_index: 1,
      metadata: { year: 2026 },
      scores: { semantic: null, keyword: first.score, rerank: null },
    });
    expect(first.highlights.map(({ start, end }: Record<string, number>) => first.text.slice(start, end))).toEqual([
      "refund",
      "receipt",
    ]);
    expect(first.neighbors.map((each: { chunk_index: number }) => each.chunk_index)).toEqual([0, 2]);
  });

  it("accepts every option", async () => {
    const { status, body } = await mine.secret.post(`${path}/query`, {
      query: ["refund", "receipt"],
      query_strategy: "keyword",
      top_k: 5,
      filter: { and: [{ field: "year", op: "gte", value: 2026 }, { not: [{ field: "topic", op: "exists" }] }] },
      score_threshold: 0.001,
      max_chunks_per_resource: 1,
      neighbors: 0,
      rerank: false,
      include: ["text"],
    });
    expect([status, body.results.length, body.filter_report]).toEqual([200, 1, { matched_resources: 1 }]);
    expect(body.results[0]).toMatchObject({ metadata: null, highlights: null });
  });

  it.each([
    [{}, [["body", "query"]]],
    [{ query: " " }, [["body", "query"]]],
    [{ query: "x", top_k: 101 }, [["body", "top_k"]]],
    [{ query: "x", keyword_weight: 1.1 }, [["body", "keyword_weight"]]],
    [{ query: "x", query_strategy: "semantic" }, [["body", "query_strategy"]]],
    [{ query: "x", rerank: true }, [["body", "rerank"]]],
    [{ query: "x", filter: { field: "yaer", op: "eq", value: 1 } }, [["body", "filter", "field"]]],
    [{ query: "x", filter: { field: "year", op: "eq", value: "1" } }, [["body", "filter", "value"]]],
    [{ query: "x", offset: 3 }, [["body", "offset"]]],
  ])("rejects %j", async (body, expected) => {
    const answer = await mine.secret.post(`${path}/query`, body);
    expect(
      places(answer)
        .slice(0, 1)
        .map((place) => (place as unknown[]).slice(0, expected[0]?.length)),
    ).toEqual(expected);
  });

  it("lists the fields that a filter can use", async () => {
    const { body } = await viewer.get(`${path}/metadata-schemas`);
    expect(body).toMatchObject({
      user_metadata_schema: { properties: { year: { type: "number", description: "", order: 0 } } },
      dataloader_metadata_schema: { properties: {} },
      builtin: { properties: { resource_path: { type: "string" }, created_at: { type: "date" } } },
    });
  });
});

describe("deleting a knowledge base", () => {
  it("deletes everything in it", async () => {
    const { path, body } = await create(mine);
    await index(mine, body.knowledge_base_id, ["Something."], { path: "a.txt" });
    expect((await mine.secret.delete(path)).status).toBe(204);
    const after = [
      await mine.secret.get(path),
      await mine.secret.post(`${path}/query`, { query: "something" }),
      await mine.secret.get(`${path}/metadata-schemas`),
      await mine.secret.patch(path, { name: "back" }),
      await mine.secret.delete(path),
    ];
    expect(after.map((each) => each.status)).toEqual([404, 404, 404, 404, 404]);
    const { body: page } = await mine.secret.get(PATH, { query: { page_size: 200 } });
    expect(JSON.stringify(page.data)).not.toContain(body.knowledge_base_id);
  });
});

describe("access to knowledge bases", () => {
  let path: string;
  beforeAll(async () => ({ path } = await create(mine)));
  const all = (api: TestClient, at: string): Promise<Answer[]> =>
    Promise.all([
      api.get(PATH),
      api.post(PATH, { name: "x" }),
      api.get(at),
      api.patch(at, { name: "x" }),
      api.delete(at),
      api.get(`${at}/metadata-schemas`),
      api.post(`${at}/query`, { query: "x" }),
    ]);

  it("requires a credential, and rejects public keys", async () => {
    expect((await all(checkedClient(mine.target), path)).map((each) => each.status)).toEqual(Array(7).fill(401));
    expect((await all(mine.public, path)).map((each) => each.status)).toEqual(Array(7).fill(403));
  });

  it("lets viewers read and query, but not change", async () => {
    expect((await all(viewer, path)).map((each) => each.status)).toEqual([200, 403, 200, 403, 403, 200, 200]);
  });

  it("hides the knowledge bases of another organisation", async () => {
    const [theirs, unknown] = [await all(others.secret, path), await all(others.secret, UNKNOWN)];
    expect(theirs.map((each) => each.status)).toEqual([200, 201, 404, 404, 404, 404, 404]);
    expect(theirs.slice(2).map((each) => each.body.detail)).toEqual(unknown.slice(2).map((each) => each.body.detail));
    expect((await mine.secret.get(path)).status).toBe(200);
  });
});
