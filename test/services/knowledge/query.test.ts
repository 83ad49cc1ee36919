import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { foldAccents } from "../../../src/domain/knowledge/languages.ts";
import type { KnowledgeAnswer, KnowledgeQueryInput } from "../../../src/domain/knowledge/query.ts";
import type { Knowledge } from "../../../src/services/knowledge/open-knowledge.ts";
import { searchKeywords } from "../../../src/stores/knowledge/search-keywords.ts";
import { findActiveIndex } from "../../../src/stores/knowledge/search.ts";
import { addResource, ask, buildBase, ownKnowledge } from "./knowledge.ts";
import type { BuiltBase } from "./knowledge.ts";

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

  it("gives the score of the formula", async () => {
    // N = 4, one chunk has the term, twice; lengths in terms without stop words.
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

  it("takes phrases, prefixes and exclusions", async () => {
    const keyword = (text: string): Promise<string[]> => query({ query: text, query_strategy: "keyword" }).then(paths);
    expect(await keyword('"personal data"')).toEqual(["privacy"]);
    expect(await keyword('"data personal"')).toEqual([]);
    expect(await keyword('what a "refund" is')).toEqual(["refunds", "shipping", "long"]);
    expect(await keyword("ship*")).toEqual(["shipping"]);
    expect(await keyword("refund -receipt -mention*")).toEqual(["shipping"]);
    expect(await keyword('refund -"working days"')).toEqual(["refunds", "long"]);
    expect(await keyword("-refund")).toEqual([]);
    // What is no operator is a word, and nothing is syntax of the database.
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
      const index = await own.database.search((db) => findActiveIndex(db, changing.org_id, changing.knowledge_base_id));
      if (index === null) throw new Error("no index");
      const terms = ["refund", "data", "day", "absent"].map((lexeme, i) => ({ lexeme, weight: 1 + i }));
      const listed = terms.map(({ lexeme, weight }) => ({ lexemes: [lexeme], prefix: false, weight }));
      const limits = { filter: null, phrases: [], excluded: [] };
      const inSql = own.database.search((db) => searchKeywords(db, changing.org_id, index, listed, limits, 3));
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

  it("highlights what was found, in UTF-16 units of the text", async () => {
    const emoji = await buildBase(own.database);
    await addResource(own, emoji, ["😀😀 Refunded? The refund's paid, refunds always are. Refurbished goods are not."]);
    const { results } = await ask(own, own.knowledge, emoji, { query: "refund", query_strategy: "keyword" });
    const [result] = results;
    expect(result?.highlights?.map(({ start, end }) => result.text?.slice(start, end))).toEqual([
      "Refunded",
      "refund's",
      "refunds",
    ]);
    const without = await ask(own, own.knowledge, emoji, { query: "refund", query_strategy: "keyword", include: [] });
    expect(without.results[0]).toMatchObject({ text: null, highlights: null, metadata: null });
  });

  it("stems each language in its own way, in one knowledge base, and splits scripts without blanks", async () => {
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

  it("finds words with and without their accents, in either", async () => {
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

  it("finds what was indexed with its accents before they were folded", async () => {
    const old = await buildBase(own.database);
    await addResource(own, old, ["The café is near, and another cafe is far. Cafés close early, says the résumé."], {
      path: "old",
    });
    const { index_no } = old.index;
    // As they were: each with its accents, and a posting of its own.
    await own.database.system(async (db) => {
      await db.query("update knowledge_chunks set lexemes = to_tsvector('english', lower(text)) where index_no = $1", [
        index_no,
      ]);
      await db.query("delete from knowledge_postings where index_no = $1", [index_no]);
      await db.query(
        `insert into knowledge_postings (index_no, term, chunk_no, tf, length)
          select c.index_no, u.lexeme, c.chunk_no, cardinality(u.positions), c.term_count from knowledge_chunks c, unnest(c.lexemes) u
          where c.index_no = $1`,
        [index_no],
      );
      const file = readFileSync(new URL("../../../migrations/0039_folded_accents.sql", import.meta.url), "utf8");
      await db.query(file.slice(file.indexOf("-- What is indexed already.")));
    });
    const find = async (query: string): Promise<string[]> =>
      paths(await ask(own, own.knowledge, old, { query, query_strategy: "keyword" }));
    for (const query of ["cafe", "café", "résumé", '"cafe is near"']) expect(await find(query), query).toEqual(["old"]);
    const rows = await own.database.system((db) =>
      db.query("select term, tf from knowledge_postings where index_no = $1 and term like 'caf%'", [index_no]),
    );
    expect(rows).toEqual([{ term: "cafe", tf: 3 }]);
  });

  it("folds accents in the database as here", async () => {
    const words = [..."àéîõüçñåžşğőțọệłøđħŧıßæœйёίがパ한"].flatMap((letter) => [
      letter,
      `x${letter}y`,
      letter.normalize("NFD"),
    ]);
    const rows = await own.database.search((db) =>
      db.query<{ folded: string }>(
        "select fold_accents(w) as folded from unnest($1::text[]) with ordinality u (w, n) order by n",
        [words],
      ),
    );
    expect(rows.map(({ folded }) => folded)).toEqual(words.map(foldAccents));
    const vector = String.raw`'a''b\\c':1,3 'é''ü\\':2 'e':5`;
    const [row] = await own.database.search((db) =>
      db.query<{ folded: string }>("select fold_accents($1::tsvector)::text as folded", [vector]),
    );
    expect(row?.folded).toBe(String.raw`'a''b\\c':1,3 'e':5 'e''u\\':2`);
  });

  it.each([
    ["an accent", "apfel", "Die Äpfel liegen auf dem Tisch, und niemand weiß, von wem sie eigentlich sind.", "Äpfel"],
    ["another beginning", "bacaan", "Anak itu suka membaca buku di rumah pada malam hari bersama ibunya.", "membaca"],
  ])("highlights a form that has %s", async (_, asked, text, form) => {
    const base = await buildBase(own.database);
    await addResource(own, base, [text]);
    const { results } = await ask(own, own.knowledge, base, { query: asked, query_strategy: "keyword" });
    expect(results[0]?.highlights?.map(({ start, end }) => text.slice(start, end))).toEqual([form]);
  });

  it("says that hybrid is keyword search where there are no embeddings, and refuses semantic", async () => {
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

  it("finds by meaning what has none of the words, with the cosine similarity as score", async () => {
    const answer = await query({ query: "vehicle", query_strategy: "semantic", top_k: 2 });
    expect(new Set(paths(answer))).toEqual(new Set(["cars", "licences"]));
    expect(answer.strategy_used).toBe("semantic");
    for (const { score, scores } of answer.results) {
      expect(score).toBeLessThanOrEqual(1.001);
      expect(scores).toEqual({ semantic: score, keyword: null, rerank: null });
    }
  });

  it("scores a hybrid search from 0 to 1: half by the words that a passage has, half by its meaning", async () => {
    const [keyword, semantic, hybrid] = await Promise.all(
      (["keyword", "semantic", "hybrid"] as const).map((query_strategy) =>
        query({ query: "car licence", query_strategy }),
      ),
    );
    expect(hybrid?.strategy_used).toBe("hybrid");
    const scoresOf = (answer: KnowledgeAnswer | undefined): Map<string, number> =>
      new Map(answer?.results.map((each) => [each.chunk_id, each.score]));
    const [byKeyword, bySemantic] = [scoresOf(keyword), scoresOf(semantic)];
    // "automobile" is a car by meaning only.
    expect(bySemantic.size).toBeGreaterThan(byKeyword.size);
    // N = 6; "car" is in one chunk, "licence" in two.
    const most = [1, 2].reduce((sum, found) => sum + 2.2 * Math.log(1 + (6 - found + 0.5) / (found + 0.5)), 0);
    const results = hybrid?.results ?? [];
    for (const { chunk_id, score } of results)
      expect(score).toBeCloseTo(
        ((byKeyword.get(chunk_id) ?? 0) / most + Math.max(0, bySemantic.get(chunk_id) ?? 0)) / 2,
        5,
      );
    expect(results.map(({ score }) => score)).toEqual(results.map(({ score }) => score).toSorted((a, b) => b - a));
    // So a threshold tells what fits from what does not, whatever else was found.
    const score_threshold = 0.3;
    expect((await query({ query: "car licence", score_threshold })).results.length).toBeGreaterThan(0);
    expect((await query({ query: "zebra", score_threshold })).results).toEqual([]);
    // In SQL the same as in memory.
    const inSql = await query({ query: "car licence -absent" });
    inSql.results.forEach(({ score }, i) => expect(score).toBeCloseTo(results[i]?.score ?? Number.NaN, 5));
    // What is excluded is out of both.
    expect(paths(await query({ query: "car -automobile" }))).not.toContain("licences");
  });

  it("counts the meaning of what only its words have found", async () => {
    const large = await buildBase(own.database, { model: "test-embedding" });
    // More chunks of the same meaning than a ranking has places.
    await addResource(
      own,
      large,
      Array.from({ length: 130 }, () => "automobile road"),
      { path: "cars" },
    );
    await addResource(own, large, ["Code zx81 of another make."], { path: "zx81" });
    const found = await ask(own, own.knowledge, large, { query: "car zx81", top_k: 3 });
    expect(paths(found)[0]).toBe("zx81");
    expect(found.results[0]?.scores.semantic).toBeNull();
  });

  it("counts the words of what only its meaning has found", async () => {
    const large = await buildBase(own.database, { model: "test-embedding" });
    // More chunks have the words, each more often, than a ranking has places.
    const often = Array.from({ length: 130 }, (_, i) => `engine engine ${`zx${i} `.repeat(12)}`);
    await addResource(own, large, often, { path: "engines" });
    await addResource(own, large, [`One engine: ${"automobile ".repeat(8)}`], { path: "cars" });
    for (const text of ["car engine", "car engine -absent"]) {
      const found = await ask(own, own.knowledge, large, { query: text, top_k: 100 });
      const car = found.results.find((each) => each.resource_path === "cars");
      expect(car?.scores.keyword).toBeNull();
      // More than half of the similarity: the rest is for the words.
      expect(car?.score).toBeGreaterThan((car?.scores.semantic ?? 1) / 2 + 0.01);
    }
  });

  it("limits chunks a resource, adds neighbors, and cuts at a threshold", async () => {
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

  it("finds the others beside a resource that has all of the first places", async () => {
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
    // In SQL, where words are not all that is asked.
    for (const query of ["engin*", "engine -absent"])
      expect(await find({ query, max_chunks_per_resource: 2 }), query).toEqual(["manual", "manual", ...others]);
    expect(await find({ query: ["engine", "engines"], max_chunks_per_resource: 1 })).toEqual(["manual", ...others]);
    expect(await find({ max_chunks_per_resource: 1, top_k: 3 })).toHaveLength(3);
  });

  it("fuses the rankings of several queries", async () => {
    const answer = await query({ query: ["red", "bicycles"], top_k: 2 });
    expect(new Set(paths(answer))).toEqual(new Set(["cars", "bikes"]));
    expect(answer.query).toEqual(["red", "bicycles"]);
    // By places: first in every ranking would be 1.
    const both = await query({ query: ["bicycles green", "green bicycle"], top_k: 1 });
    expect([paths(both), both.results[0]?.score]).toEqual([["bikes"], 1]);
  });

  it("lets a reranker decide, and shows its scores", async () => {
    const answer = await query({ query: "car engine" }, own.reranking);
    const lengths = answer.results.map((each) => each.text?.length ?? 0);
    expect(lengths).toEqual(lengths.toSorted((a, b) => b - a));
    expect(answer.results[0]?.scores.rerank).toBe(answer.results[0]?.score);
    const without = await query({ query: "car engine", rerank: false }, own.reranking);
    expect(without.results.every((each) => each.scores.rerank === null)).toBe(true);
  });

  it("answers by keywords while the model fails, and says so; semantic is a 502 without the credential", async () => {
    own.models.failNext(5, 400);
    expect(await query({ query: "car" })).toMatchObject({ strategy_used: "keyword" });
    const failed = await query({ query: "car", query_strategy: "semantic" }).catch((error: unknown) => error);
    expect(failed).toMatchObject({ code: "upstream_failed" });
    expect(String(failed)).not.toContain("sk-of-the-test");
    own.models.failNext(0, 0);
    for (let i = 0; i < 3; i += 1) await query({ query: "car" });
    // A passing failure is tried again.
    own.models.failNext(1, 503);
    expect(await query({ query: "car", query_strategy: "semantic" })).toMatchObject({ strategy_used: "semantic" });
  });
});
