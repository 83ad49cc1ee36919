import { beforeAll, describe, expect, it } from "vitest";
import type { KnowledgeAnswer, KnowledgeQueryInput } from "../../../src/domain/knowledge/query.ts";
import type { Knowledge } from "../../../src/services/knowledge/open-knowledge.ts";
import { renewOutdatedWords } from "../../../src/services/knowledge/renew-words.ts";
import { searchKeywords } from "../../../src/stores/knowledge/search-keywords.ts";
import { findActiveIndex } from "../../../src/stores/knowledge/search.ts";
import { addResource, ask, buildBase, ownKnowledge, type BuiltBase } from "./knowledge.ts";

const own = ownKnowledge();
let base: BuiltBase;

const query = (request: KnowledgeQueryInput, knowledge: Knowledge = own.knowledge): Promise<KnowledgeAnswer> =>
  ask(own, knowledge, base, request);
const paths = ({ results }: KnowledgeAnswer): string[] => results.map((each) => each.resource_path);

describe("keyword search", () => {
  beforeAll(async () => {
    base = await buildBase(own.database);
    const add = (path: string, ...texts: string[]): Promise<string> => addResource(own, base, texts, { path });
    await add("refunds", "Refunds are paid within ten days. A refund needs the receipt of the purchase.");
    await add(
      "shipping",
      "Parcels are shipped on working days. Shipping to islands takes longer, also for refunded goods.",
    );
    await add("privacy", "The protection of personal data: which data we keep, and how to have data deleted.");
    await add(
      "long",
      `${"Nothing of interest is said here about anything at all. ".repeat(30)} A refund is mentioned.`,
    );
  });

  it("ranks by BM25: frequent in a short chunk before once in a long one, in any form of the word", async () => {
    const answer = await query({ query: "refunding", query_strategy: "keyword" });
    expect(paths(answer)).toEqual(["refunds", "shipping", "long"]);
    const [first, second] = answer.results;
    expect(first?.score).toBeGreaterThan(second?.score ?? Infinity);
    expect(first?.scores).toEqual({ semantic: null, keyword: first?.score, rerank: null });
    expect(answer).toMatchObject({ strategy_used: "keyword", filter_report: { matched_resources: 4 } });
  });

  it("returns the score of the BM25 formula", async () => {
    // N = 4; one chunk has the term twice; lengths count terms without stop words.
    const { results } = await query({ query: "receipt", query_strategy: "keyword" });
    const rows = await own.database.org(base.org_id, (db) =>
      db.query<{ length: number; average: number }>(
        `select max(term_count) filter (where text like '%receipt%') as length, avg(term_count)::float8 as average from knowledge_chunks
          where org_id = $1`,
        [base.org_id],
      ),
    );
    const { length, average } = rows[0] ?? { length: 0, average: 1 };
    const idf = Math.log(1 + (4 - 1 + 0.5) / (1 + 0.5));
    const expected = (idf * 1 * 2.2) / (1 + 1.2 * (0.25 + (0.75 * length) / average));
    expect(results[0]?.score).toBeCloseTo(expected, 6);
  });

  it("supports phrases, prefixes and exclusions", async () => {
    const keyword = (text: string): Promise<string[]> => query({ query: text, query_strategy: "keyword" }).then(paths);
    expect(await keyword('"personal data"')).toEqual(["privacy"]);
    expect(await keyword('"data personal"')).toEqual([]);
    expect(await keyword('what a "refund" is')).toEqual(["refunds", "shipping", "long"]);
    expect(await keyword("ship*")).toEqual(["shipping"]);
    expect(await keyword("refund -receipt -mention*")).toEqual(["shipping"]);
    expect(await keyword('refund -"working days"')).toEqual(["refunds", "long"]);
    expect(await keyword("-refund")).toEqual([]);
    // Text that is not an operator is a word, and nothing acts as query syntax of the database.
    expect(await keyword("well-known | refund & !receipt:* <-> ( ' \\ %")).toContain("refunds");
    expect(await keyword("the of and")).toEqual([]);
  });

  it("ranks the same in memory as in SQL, also after a change", async () => {
    const changing = await buildBase(own.database);
    for (const text of [
      "A refund of data.",
      "Refunds and refunds, each day and night.",
      "A day. Data are data.",
      "Nothing.",
    ])
      await addResource(own, changing, [text]);
    const both = async (): Promise<unknown[][]> => {
      const index = await own.database.search(changing.org_id, (db) =>
        findActiveIndex(db, changing.org_id, changing.knowledge_base_id),
      );
      if (index === null) throw new Error("no index");
      const terms = ["refund", "data", "day", "absent"].map((lexeme, i) => ({ lexeme, weight: 1 + i }));
      const listed = terms.map(({ lexeme, weight }) => ({ lexemes: [lexeme], prefix: false, weight }));
      const limits = { filter: null, required: [], excluded: [] };
      const inSql = own.database.search(changing.org_id, (db) =>
        searchKeywords(db, changing.org_id, index, listed, limits, 3),
      );
      const inMemory = own.knowledge.deps.postings.search(changing.org_id, index, terms, 3);
      return (await Promise.all([inSql, inMemory])).map((hits) =>
        hits.map(({ chunk_no, score }) => [chunk_no, score.toFixed(9)]),
      );
    };
    const [sql, memory] = await both();
    expect(sql).toHaveLength(3);
    expect(memory).toEqual(sql);
    await addResource(own, changing, ["Data of one day."]);
    const [after, afterMemory] = await both();
    expect(afterMemory).toEqual(after);
    expect(after).not.toEqual(sql);
  });

  it("highlights matches in UTF-16 units of the text", async () => {
    const emoji = await buildBase(own.database);
    await addResource(own, emoji, ["😀😀 Refunded? The refund's paid, refunds always are. Refurbished goods are not."]);
    const { results } = await ask(own, own.knowledge, emoji, { query: "refund", query_strategy: "keyword" });
    const [result] = results;
    expect(result?.highlights?.map(({ start, end }) => result.text?.slice(start, end))).toEqual([
      "Refunded",
      "refund",
      "refunds",
    ]);
    const without = await ask(own, own.knowledge, emoji, { query: "refund", query_strategy: "keyword", include: [] });
    expect(without.results[0]).toMatchObject({ text: null, highlights: null, metadata: null });
  });

  it("stems each language by its own rules in one knowledge base, and splits scripts without spaces", async () => {
    const mixed = await buildBase(own.database);
    const add = (path: string, text: string): Promise<string> => addResource(own, mixed, [text], { path });
    await add("en", "The houses in this street were built by the same builders, long before the war began.");
    await add("de", "Die Häuser in dieser Straße wurden vor dem Krieg gebaut, und niemand weiß, von wem eigentlich.");
    await add("ja", "東京都の図書館は毎日午前九時に開きます。本を借りるにはカードが必要です。");
    const find = (text: string): Promise<string[]> =>
      ask(own, own.knowledge, mixed, { query: text, query_strategy: "keyword" }).then(paths);
    expect(await find("haus")).toEqual(["de"]);
    expect(await find("HÄUSERN")).toEqual(["de"]);
    expect(await find("house")).toEqual(["en"]);
    expect(await find("図書館")).toEqual(["ja"]);
  });

  it("finds words with and without accents, either way", async () => {
    const accented = await buildBase(own.database);
    const add = (path: string, text: string): Promise<string> => addResource(own, accented, [text], { path });
    await add(
      "café",
      "The café in Zürich opens at nine, and the naïve visitor waits before its door, with his résumé.",
    );
    await add("cafe", "The cafe in Zurich is closed on Mondays, which the visitor does not know before he comes.");
    await add(
      "fr",
      "Les élèves français étaient déjà à l'école quand la cloche a sonné, mais le maître dormait encore.",
    );
    await add("pl", "Łódź leży nad rzeką, której prawie nikt w mieście nie widział od bardzo wielu lat.");
    const find = async (text: string): Promise<string> =>
      paths(await ask(own, own.knowledge, accented, { query: text, query_strategy: "keyword" }))
        .toSorted()
        .join();
    for (const text of ["cafe", "café", "CAFÉ", "zurich", "Zürich", "caf*", "zür*"])
      expect(await find(text), text).toBe("cafe,café");
    for (const text of ["élèves", "eleves", "école", "ecole", '"eleves francais"'])
      expect(await find(text), text).toBe("fr");
    for (const text of ["resume", "résumé", "Résumés", '"his resume"', "naive"])
      expect(await find(text), text).toBe("café");
    for (const text of ["lodz", "Łódź", "łód*"]) expect(await find(text), text).toBe("pl");
    expect(await find("zurich -café")).toBe("");
    expect(await find('zurich -"naive visitor"')).toBe("cafe");
    const { results } = await ask(own, own.knowledge, accented, { query: "lodz zur*", query_strategy: "keyword" });
    const marked = results.map(({ text, highlights }) => highlights?.map(({ start, end }) => text?.slice(start, end)));
    expect(new Set(marked.flat())).toEqual(new Set(["Łódź", "Zürich", "Zurich"]));
  });

  it("finds words indexed by the Postgres parser, before and after they are indexed again", async () => {
    const old = await buildBase(own.database, { model: "test-embedding" });
    const add = (path: string, text: string): Promise<string> => addResource(own, old, [text], { path });
    await add("terms", "The “Agreement” covers the cafés; see terms.html of Node.js, or write e-mails.");
    await add(
      "haus",
      "Die „Häuser“ in dieser Straße wurden vor dem Krieg gebaut, und niemand weiß, von wem eigentlich.",
    );
    const { index_no } = old.index;
    const counts = (): Promise<unknown[]> =>
      own.database.system((db) =>
        db.query(
          `select i.term_count::int as index, (select sum(term_count)::int from knowledge_index_resources x where x.index_no = i.index_no) as resources,
            (select sum(term_count)::int from knowledge_chunks c where c.index_no = i.index_no) as chunks,
            (select sum(tf)::int from knowledge_postings p where p.index_no = i.index_no) as postings,
            (select count(*)::int from knowledge_chunks c where c.index_no = i.index_no and word_rules = 0) as outdated
            from knowledge_indexes i where i.index_no = $1`,
          [index_no],
        ),
      );
    const present = await counts();
    await own.database.system(async (db) => {
      const lexemes = "fold_accents(to_tsvector(language::regconfig, lower(text)))";
      await db.query(`update knowledge_chunks set lexemes = ${lexemes}, word_rules = 0 where index_no = $1`, [
        index_no,
      ]);
      await db.query("update knowledge_chunks set term_count = length(lexemes) where index_no = $1", [index_no]);
      await db.query("delete from knowledge_postings where index_no = $1", [index_no]);
      await db.query(
        `insert into knowledge_postings (index_no, term, chunk_no, tf, length)
          select c.index_no, u.lexeme, c.chunk_no, cardinality(u.positions), c.term_count from knowledge_chunks c, unnest(c.lexemes) u
          where c.index_no = $1`,
        [index_no],
      );
      await db.query(
        `update knowledge_index_resources x set term_count = c.term_count from knowledge_chunks c
          where x.index_no = $1 and c.index_no = $1 and c.resource_id = x.resource_id`,
        [index_no],
      );
      await db.query(
        `update knowledge_indexes set version = version + 1,
          term_count = (select sum(term_count) from knowledge_index_resources where index_no = $1) where index_no = $1`,
        [index_no],
      );
    });
    const find = async (query: string): Promise<string[]> =>
      paths(await ask(own, own.knowledge, old, { query, query_strategy: "keyword" }));
    const known = ["cover", "cafe", "terms.html", "node.js", "e-mail", "mails", '"covers the cafés"'];
    for (const query of known) expect(await find(query), query).toEqual(["terms"]);
    const lost = ["agreement", "node", "html"];
    for (const query of lost) expect(await find(query), query).toEqual([]);
    const embedded = own.models.embedded.length;
    expect(await renewOutdatedWords(own.database)).toBeGreaterThanOrEqual(2);
    for (const query of [...known, ...lost, '"the agreement"']) expect(await find(query), query).toEqual(["terms"]);
    expect(await find("haus")).toEqual(["haus"]);
    expect(await counts()).toEqual(present);
    expect(own.models.embedded).toHaveLength(embedded);
    expect(await renewOutdatedWords(own.database)).toBe(0);
  });

  it("highlights decomposed letters and words of scripts without spaces", async () => {
    const scripts = await buildBase(own.database);
    const decomposed = "Zu\u0308rich und Mu\u0308nchen: Cafe\u0301s";
    const thai = "การรับประกันน้ำดื่ม";
    for (const text of [decomposed, thai, "東京都の図書館は東京にある"]) await addResource(own, scripts, [text]);
    const marked = async (query: string): Promise<unknown> => {
      const { results } = await ask(own, own.knowledge, scripts, { query, query_strategy: "keyword" });
      return results[0]?.highlights?.map(({ start, end }) => results[0]?.text?.slice(start, end));
    };
    expect(await marked("Zürich café")).toEqual(["Zu\u0308rich", "Cafe\u0301s"]);
    expect(await marked("mün*")).toEqual(["Mu\u0308nchen"]);
    expect(await marked("น้ำ")).toEqual(["น้ำ"]);
    expect(await marked("東京")).toEqual(["東京", "東京"]);
  });

  it("ranks an identifier above its parts, highlights it once, and matches it as a phrase", async () => {
    const code = await buildBase(own.database);
    const add = (path: string, text: string): Promise<string> => addResource(own, code, [text], { path });
    await add("version", "Released as 1.2.3 with parseDocument and Node.js.");
    await add("list", "Chapters 3, 2 and 1: how to parse a document, and a node of a tree in js.");
    const keyword = (query: string): Promise<KnowledgeAnswer> =>
      ask(own, own.knowledge, code, { query, query_strategy: "keyword" });
    for (const query of ["1.2.3", "Node.js"]) expect(paths(await keyword(query)), query).toEqual(["version", "list"]);
    expect(paths(await keyword("parseDocument"))).toEqual(["version"]);
    expect(paths(await keyword("document -Node.js"))).toEqual(["list"]);
    expect(paths(await keyword('"node js"'))).toEqual(["version"]);
    expect(paths(await keyword('"as 1.2.3 with parsedocument and"'))).toEqual(["version"]);
    const [first] = (await keyword("Node.js document")).results;
    expect(first?.highlights?.map(({ start, end }) => first.text?.slice(start, end))).toEqual(["Document", "Node.js"]);
  });

  it.each([
    ["an accent", "apfel", "Die Äpfel liegen auf dem Tisch, und niemand weiß, von wem sie eigentlich sind.", "Äpfel"],
    ["another beginning", "bacaan", "Anak itu suka membaca buku di rumah pada malam hari bersama ibunya.", "membaca"],
  ])("highlights a match that has %s", async (_, asked, text, form) => {
    const base = await buildBase(own.database);
    await addResource(own, base, [text]);
    const { results } = await ask(own, own.knowledge, base, { query: asked, query_strategy: "keyword" });
    expect(results[0]?.highlights?.map(({ start, end }) => text.slice(start, end))).toEqual([form]);
  });

  it("reports hybrid as keyword search if there are no embeddings, and refuses semantic search", async () => {
    const answer = await query({ query: "refund" });
    expect(answer.strategy_used).toBe("keyword");
    expect(paths(answer)).toEqual(["refunds", "shipping", "long"]);
    await expect(query({ query: "refund", query_strategy: "semantic" })).rejects.toMatchObject({
      code: "validation_error",
      issues: [{ loc: ["body", "query_strategy"], type: "embedding_not_configured" }],
    });
    await expect(query({ query: "refund", rerank: true })).rejects.toMatchObject({
      issues: [{ loc: ["body", "rerank"], type: "rerank_not_configured" }],
    });
  });
});

describe("semantic and hybrid search", () => {
  beforeAll(async () => {
    base = await buildBase(own.database, { model: "test-embedding" });
    await addResource(own, base, ["The car is red.", "Its engine is old.", "Nobody wants it."], { path: "cars" });
    await addResource(own, base, ["An automobile licence costs money."], { path: "licences" });
    await addResource(own, base, ["Bicycles are green.", "A bicycle needs no licence and no engine."], {
      path: "bikes",
    });
  });

  it("finds chunks by meaning without a common word, with the cosine similarity as score", async () => {
    const answer = await query({ query: "vehicle", query_strategy: "semantic", top_k: 2 });
    expect(new Set(paths(answer))).toEqual(new Set(["cars", "licences"]));
    expect(answer.strategy_used).toBe("semantic");
    for (const { score, scores } of answer.results) {
      expect(score).toBeLessThanOrEqual(1.001);
      expect(scores).toEqual({ semantic: score, keyword: null, rerank: null });
    }
  });

  it("scores a hybrid search as 0.4 of the keyword share plus 0.6 of the similarity", async () => {
    const ranked = (keyword_weight?: number, text = "car licence"): Promise<KnowledgeAnswer> =>
      query({ query: text, ...(keyword_weight === undefined ? {} : { keyword_weight }) });
    const scoresOf = ({ results }: KnowledgeAnswer): Map<string, number> =>
      new Map(results.map((each) => [each.chunk_id, each.score]));
    const [keyword, semantic] = await Promise.all(
      (["keyword", "semantic"] as const).map(async (query_strategy) =>
        scoresOf(await query({ query: "car licence", query_strategy })),
      ),
    );
    // "automobile" matches "car" by meaning only.
    expect(semantic?.size).toBeGreaterThan(keyword?.size ?? 0);
    // N = 6; "car" is in one chunk, "licence" in two.
    const most = [1, 2].reduce((sum, found) => sum + 2.2 * Math.log(1 + (6 - found + 0.5) / (found + 0.5)), 0);
    const share = (id: string): number => (keyword?.get(id) ?? 0) / most;
    const cosine = (id: string): number => Math.max(semantic?.get(id) ?? 0, 0);
    for (const [id, score] of scoresOf(await ranked(1))) expect(score).toBeCloseTo(share(id), 5);
    for (const [id, score] of scoresOf(await ranked(0))) expect(score).toBeCloseTo(cosine(id), 5);
    const hybrid = scoresOf(await ranked());
    const ids = [...hybrid.keys()];
    const best = (of: (id: string) => number): number => Math.max(...ids.map(of));
    const worst = Math.min(...ids.map(cosine));
    for (const [id, score] of hybrid) {
      const [words, meaning] = [share(id) / best(share), (cosine(id) - worst) / (best(cosine) - worst)];
      const [lowest, highest] = [0.6 * worst, 0.4 * best(share) + 0.6 * best(cosine)];
      expect(score).toBeCloseTo(lowest + (highest - lowest) * (0.4 * words + 0.6 * meaning), 5);
    }
    expect([...hybrid.values()]).toEqual([...hybrid.values()].toSorted((a, b) => b - a));
    // A fixed threshold separates matches from other chunks, whatever else was found.
    const score_threshold = 0.35;
    expect((await query({ query: "car licence", score_threshold })).results.length).toBeGreaterThan(0);
    expect((await query({ query: "zebra", score_threshold })).results).toEqual([]);
    // Ranking in SQL gives the same scores as in memory.
    const inSql = await query({ query: "car licence -absent" });
    inSql.results.forEach(({ score, chunk_id }) => expect(score).toBeCloseTo(hybrid.get(chunk_id) ?? Number.NaN, 5));
    // An excluded word excludes a chunk from both rankings.
    expect(paths(await query({ query: "car -automobile" }))).not.toContain("licences");
  });

  it("includes the similarity in the score of chunks that only the keyword search found", async () => {
    const large = await buildBase(own.database, { model: "test-embedding" });
    // More chunks match by meaning than a ranking holds.
    await addResource(
      own,
      large,
      Array.from({ length: 130 }, () => "automobile road"),
      { path: "cars" },
    );
    await addResource(own, large, ["Code zx81 of another make."], { path: "zx81" });
    const asked = { query: "car zx81", top_k: 3, keyword_weight: 0.6 };
    const [first] = (await ask(own, own.knowledge, large, asked)).results;
    expect([first?.resource_path, first?.scores.semantic]).toEqual(["zx81", null]);
    // It has the best keyword score, and its cosine similarity must be between the lowest that counts (0.3) and the best (0.5).
    const share = (first?.scores.keyword ?? 0) / (2.2 * Math.log(1 + 130.5 / 1.5));
    const [lowest, highest] = [0.4 * 0.3, 0.6 * share + 0.4 * 0.5];
    expect(first?.score).toBeGreaterThan(lowest + (highest - lowest) * 0.6 + 0.005);
    // By default, meaning has the greater weight.
    expect(paths(await ask(own, own.knowledge, large, { query: "car zx81", top_k: 3 }))).not.toContain("zx81");
  });

  it("includes the matched words in the score of chunks that only the semantic search found", async () => {
    const large = await buildBase(own.database, { model: "test-embedding" });
    // More chunks contain the words, and more often, than a ranking holds.
    const often = Array.from({ length: 130 }, (_, i) => `engine engine ${`zx${i} `.repeat(12)}`);
    await addResource(own, large, often, { path: "engines" });
    await addResource(own, large, [`One engine: ${"automobile ".repeat(8)}`], { path: "cars" });
    for (const text of ["car engine", "car engine -absent"]) {
      const found = await ask(own, own.knowledge, large, { query: text, top_k: 100 });
      const car = found.results.find((each) => each.resource_path === "cars");
      expect(car?.scores.keyword).toBeNull();
      // The score exceeds the semantic part, because the chunk also gets a keyword score.
      expect(car?.score).toBeGreaterThan(0.6 * (car?.scores.semantic ?? 1) + 0.01);
    }
  });

  it("limits chunks per resource, adds neighbors and cuts at a threshold", async () => {
    const all = await query({ query: "car engine licence" });
    expect(paths(all).filter((path) => path === "cars")).toHaveLength(3);
    const limited = await query({ query: "car engine licence", max_chunks_per_resource: 1, neighbors: 1 });
    expect(paths(limited).toSorted()).toEqual(["bikes", "cars", "licences"]);
    const car = limited.results.find((each) => each.resource_path === "cars");
    expect(car?.neighbors?.map((each) => each.chunk_index)).toEqual(
      [0, 1, 2].filter((index) => Math.abs(index - (car?.chunk_index ?? 9)) === 1),
    );
    const [first] = all.results;
    const above = await query({ query: "car engine licence", score_threshold: first?.score ?? 0 });
    expect(above.results.map((each) => each.rank)).toEqual([1]);
    expect((await query({ query: "car", top_k: 1 })).results).toHaveLength(1);
  });

  it("finds other resources beside one that fills all of the first ranks", async () => {
    const uneven = await buildBase(own.database, { model: "test-embedding" });
    const pages = Array.from({ length: 700 }, () => "engine");
    await addResource(own, uneven, pages, { path: "manual" });
    const others = Array.from({ length: 11 }, (_, i) => `other-${String(i).padStart(2, "0")}`);
    for (const path of others)
      await addResource(own, uneven, [`An engine is mentioned here, in ${path}, beside much else.`], { path });
    const find = async (request: Partial<KnowledgeQueryInput>): Promise<string[]> =>
      paths(await ask(own, own.knowledge, uneven, { query: "engine", top_k: 20, ...request })).toSorted();
    for (const query_strategy of ["keyword", "semantic", "hybrid"] as const) {
      const found = await find({ query_strategy, max_chunks_per_resource: 1 });
      expect(found, query_strategy).toEqual(["manual", ...others]);
    }
    // These queries are ranked in SQL, because they contain operators.
    for (const query of ["engin*", "engine -absent"])
      expect(await find({ query, max_chunks_per_resource: 2 }), query).toEqual(["manual", "manual", ...others]);
    expect(await find({ query: ["engine", "engines"], max_chunks_per_resource: 1 })).toEqual(["manual", ...others]);
    expect(await find({ max_chunks_per_resource: 1, top_k: 3 })).toHaveLength(3);
  });

  it("fuses the rankings of several queries", async () => {
    const answer = await query({ query: ["red", "bicycles"], top_k: 2 });
    expect(new Set(paths(answer))).toEqual(new Set(["cars", "bikes"]));
    expect(answer.query).toEqual(["red", "bicycles"]);
    // With scores by rank, being first in every ranking gives 1.
    const both = await query({ query: ["bicycles green", "green bicycle"], top_k: 1 });
    expect([paths(both), both.results[0]?.score]).toEqual([["bikes"], 1]);
  });

  it("ranks by the reranker and shows its scores", async () => {
    const answer = await query({ query: "car engine" }, own.reranking);
    const lengths = answer.results.map((each) => each.text?.length ?? 0);
    expect(lengths).toEqual(lengths.toSorted((a, b) => b - a));
    expect(answer.results[0]?.scores.rerank).toBe(answer.results[0]?.score);
    const without = await query({ query: "car engine", rerank: false }, own.reranking);
    expect(without.results.every((each) => each.scores.rerank === null)).toBe(true);
  });

  it("falls back to keywords while the model fails and says so; semantic returns 502 without the credential", async () => {
    own.models.failNext(5, 400);
    expect(await query({ query: "car" })).toMatchObject({ strategy_used: "keyword" });
    const failed = await query({ query: "car", query_strategy: "semantic" }).catch((error: unknown) => error);
    expect(failed).toMatchObject({ code: "upstream_failed" });
    expect(String(failed)).not.toContain("sk-of-the-test");
    own.models.failNext(0, 0);
    for (let i = 0; i < 3; i += 1) await query({ query: "car" });
    // A passing failure is retried.
    own.models.failNext(1, 503);
    expect(await query({ query: "car", query_strategy: "semantic" })).toMatchObject({ strategy_used: "semantic" });
  });
});
