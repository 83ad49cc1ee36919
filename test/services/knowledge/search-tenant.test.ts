import { beforeAll, describe, expect, it } from "vitest";
import { readPostings, searchKeywords } from "../../../src/stores/knowledge/search-keywords.ts";
import { restrictChunks } from "../../../src/stores/knowledge/search-limits.ts";
import { readVectors } from "../../../src/stores/knowledge/search-vectors.ts";
import {
  countMatched,
  findActiveIndex,
  readChunks,
  readPositions,
  readResourcesOf,
  type SearchedIndex,
} from "../../../src/stores/knowledge/search.ts";
import { addResource, ask, buildBase, ownKnowledge, type BuiltBase } from "./knowledge.ts";

const own = ownKnowledge();
let mine: BuiltBase;
let theirs: BuiltBase;
let theirIndex: SearchedIndex;
let theirResource: string;

// The text of another organisation, which matches every query below better than the organisation's own texts.
const BEST = "The launch code is swordfish.";

beforeAll(async () => {
  mine = await buildBase(own.database, { model: "test-embedding" });
  theirs = await buildBase(own.database, { model: "test-embedding" });
  await addResource(own, mine, ["A launch was planned for spring, and much was written about it."]);
  theirResource = await addResource(own, theirs, [BEST]);
  const found = await own.database.search(theirs.org_id, (db) =>
    findActiveIndex(db, theirs.org_id, theirs.knowledge_base_id),
  );
  if (found === null) throw new Error("no index");
  theirIndex = found;
});

describe("search-tenant", () => {
  it.each(["keyword", "semantic", "hybrid"] as const)(
    "finds nothing of another organisation by %s",
    async (strategy) => {
      const request = { query: "launch code swordfish", query_strategy: strategy };
      const answer = await ask(own, own.knowledge, mine, request);
      expect(answer.results).toHaveLength(1);
      expect(answer.results[0]?.text).toContain("planned for spring");
      // The other organisation itself finds this text as its best result.
      const other = await ask(own, own.knowledge, theirs, request);
      expect(other.results[0]?.text).toBe(BEST);
    },
  );

  it("names the organisation in every statement, so that IDs of another organisation find nothing", async () => {
    const limits = { filter: null, required: [], excluded: [] };
    const all = { kind: "condition", source: "builtin", field: "size", type: "number", op: "gte", value: 0 } as const;
    const term = { lexemes: ["swordfish"], prefix: false, weight: 1 };
    const run = (orgId: string): Promise<unknown[]> =>
      own.database.search(orgId, async (db) => {
        const { index_no } = theirIndex;
        const numbers = await restrictChunks(db, theirs.org_id, theirIndex, limits);
        expect(numbers).toHaveLength(1);
        return [
          (await findActiveIndex(db, orgId, theirs.knowledge_base_id)) !== null,
          (await searchKeywords(db, orgId, theirIndex, [term], limits, 10)).length,
          (await searchKeywords(db, orgId, theirIndex, [{ ...term, prefix: true }], limits, 10)).length,
          (await readPostings(db, orgId, index_no, ["swordfish"])).size,
          (await restrictChunks(db, orgId, theirIndex, limits)).length,
          (await countMatched(db, orgId, index_no, all)).resources,
          (await readVectors(db, orgId, index_no, numbers)).length,
          (await readChunks(db, orgId, index_no, numbers)).length,
          (await readResourcesOf(db, orgId, index_no, numbers)).size,
          (await readPositions(db, orgId, index_no, [{ resource_id: theirResource, chunk_index: 0 }])).length,
        ];
      });
    expect(await run(theirs.org_id)).toEqual([true, 1, 1, 1, 1, 1, 1, 1, 1, 1]);
    expect(await run(mine.org_id)).toEqual([false, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
  });

  it("neither shows nor changes postings of another organisation, by row-level security", async () => {
    const postings = (orgId: string): Promise<unknown[]> =>
      own.database.org(orgId, (db) => db.query("select 1 from knowledge_postings where term = 'swordfish'"));
    expect(await postings(mine.org_id)).toEqual([]);
    const stolen = "insert into knowledge_postings (index_no, term, chunk_no, tf, length) values ($1, 'x', 1, 1, 1)";
    await expect(own.database.org(mine.org_id, (db) => db.query(stolen, [theirIndex.index_no]))).rejects.toMatchObject({
      code: "42501",
    });
    await own.database.org(mine.org_id, (db) => db.query("delete from knowledge_postings"));
    expect(await postings(theirs.org_id)).toHaveLength(1);
  });

  it("uses a database role that can only read knowledge bases", async () => {
    const refused = (statement: string): Promise<unknown> =>
      own.database
        .search(theirs.org_id, (db) => db.query(statement))
        .then(
          () => "done",
          (error: { code?: string }) => error.code,
        );
    expect(await refused("select 1 from runs")).toBe("42501");
    expect(await refused("select 1 from api_keys")).toBe("42501");
    expect(await refused("delete from knowledge_chunks")).not.toBe("done");
    expect(await refused("set transaction read write; delete from knowledge_chunks")).toBe("42501");
  });
});
