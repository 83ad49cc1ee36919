import { describe, expect, it } from "vitest";
import { indexResource } from "../../../src/services/knowledge/index-resource.ts";
import { deleteKnowledgeBase, deleteResource, purgeKnowledge } from "../../../src/services/knowledge/remove.ts";
import { activateIndex, insertIndex, listIndexes } from "../../../src/stores/knowledge/indexes.ts";
import { findResource } from "../../../src/stores/knowledge/resources.ts";
import {
  beginRevision,
  addResource,
  ask,
  buildBase,
  buildResource,
  chunksOf,
  ownKnowledge,
  type BuiltBase,
} from "./knowledge.ts";
import { NOT_AUDITED } from "../../support/not-audited.ts";

const own = ownKnowledge();
const blobs = { delete: async () => undefined };
const TABLES = ["bases", "resources", "indexes", "index_resources", "chunks", "embeddings", "postings"];

/** Number of an organisation's rows in each table of knowledge bases. */
async function countRows({ org_id }: BuiltBase): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const table of TABLES) {
    const rows = await own.database.org(org_id, (db) =>
      db.query<{ n: number }>(`select count(*) as n from knowledge_${table}`),
    );
    counts[table] = rows[0]?.n ?? -1;
  }
  return counts;
}

const texts = async (base: BuiltBase, query: string): Promise<(string | null)[]> =>
  (await ask(own, own.knowledge, base, { query })).results.map((each) => each.text);

describe("indexing", () => {
  it("replaces a document's chunks and embeds no text twice", async () => {
    const base = await buildBase(own.database, { model: "test-embedding" });
    const resource_id = await addResource(own, base, ["A first apple.", "The same pear."]);
    const revision = (await beginRevision(own.database, base.org_id, resource_id)) ?? 0;
    expect(await texts(base, "apple")).toContain("A first apple.");
    const before = own.models.embedded.length;
    await indexResource(
      own.knowledge.deps,
      base.index,
      { resource_id, revision },
      chunksOf(["The same pear.", "A plum."]),
    );
    expect(own.models.embedded.slice(before).flat()).toEqual(["A plum."]);
    expect((await texts(base, "pear plum")).toSorted()).toEqual(["A plum.", "The same pear."]);
    expect(await countRows(base)).toMatchObject({ chunks: 2, embeddings: 2, index_resources: 1 });
    const row = await own.database.org(base.org_id, (db) => findResource(db, base.knowledge_base_id, resource_id));
    expect(row).toMatchObject({ status: "indexed", chunk_count: 2, revision: 2 });
  });

  it("resumes after an interruption and shows nothing of a document before all of it is indexed", async () => {
    const base = await buildBase(own.database, { model: "test-embedding" });
    const resource_id = await buildResource(own.database, base);
    const revision = (await beginRevision(own.database, base.org_id, resource_id)) ?? 0;
    const chunks = chunksOf(Array.from({ length: 150 }, (_, i) => `Number ${i} of the chunks`));
    const stop = new AbortController();
    const onProgress = (done: number): void => {
      if (done >= 64) stop.abort(new Error("stopped"));
    };
    const started = indexResource(own.knowledge.deps, base.index, { resource_id, revision }, chunks, {
      onProgress,
      signal: stop.signal,
    });
    await expect(started).rejects.toThrow("stopped");
    expect(await countRows(base)).toMatchObject({ chunks: 64, index_resources: 0 });
    expect(await texts(base, "chunks")).toEqual([]);
    expect(await indexResource(own.knowledge.deps, base.index, { resource_id, revision }, chunks)).toBe(true);
    expect(await countRows(base)).toMatchObject({ chunks: 150, embeddings: 150 });
    // Indexing the same content again changes nothing.
    expect(await indexResource(own.knowledge.deps, base.index, { resource_id, revision }, chunks)).toBe(true);
    expect(await countRows(base)).toMatchObject({ chunks: 150, embeddings: 150, postings: 150 * 3 });
    expect(await texts(base, "149")).toContain("Number 149 of the chunks");
  });

  it("is discarded if a later revision was indexed", async () => {
    const base = await buildBase(own.database);
    const resource_id = await buildResource(own.database, base);
    const first = (await beginRevision(own.database, base.org_id, resource_id)) ?? 0;
    const second = (await beginRevision(own.database, base.org_id, resource_id)) ?? 0;
    const index = (revision: number, text: string): Promise<boolean> =>
      indexResource(own.knowledge.deps, base.index, { resource_id, revision }, chunksOf([text]));
    expect(await index(second, "The later text.")).toBe(true);
    expect(await index(first, "The earlier text.")).toBe(false);
    expect(await texts(base, "text")).toEqual(["The later text."]);
  });

  it("leaves no rows of a deleted document and does not count it", async () => {
    const base = await buildBase(own.database, { model: "test-embedding" });
    const kept = await addResource(own, base, ["Something that stays."]);
    const before = await countRows(base);
    const gone = await addResource(
      own,
      base,
      Array.from({ length: 70 }, (_, i) => `Something that goes, ${i}`),
    );
    expect(await deleteResource({ ...own.knowledge.deps, blobs }, base.org_id, base.knowledge_base_id, gone)).toBe(
      true,
    );
    expect(await texts(base, "something")).toEqual(["Something that stays."]);
    expect(await countRows(base)).toEqual(before);
    const [index] = await own.database.org(base.org_id, (db) => listIndexes(db, base.knowledge_base_id));
    expect(index).toMatchObject({ chunk_count: 1 });
    expect(await deleteResource({ ...own.knowledge.deps, blobs }, base.org_id, base.knowledge_base_id, gone)).toBe(
      false,
    );
    // Indexing that was running during the deletion restores nothing.
    const late = { resource_id: gone, revision: 1 };
    expect(await indexResource(own.knowledge.deps, base.index, late, chunksOf(["Too late."]))).toBe(false);
    expect(kept).not.toBe(gone);
  });

  it("leaves no rows of a deleted knowledge base", async () => {
    const base = await buildBase(own.database, { model: "test-embedding" });
    const other = await buildBase(own.database, { org_id: base.org_id, model: "test-embedding" });
    await addResource(own, other, ["Of the other one."]);
    const before = await countRows(base);
    await addResource(own, base, ["One.", "Two."]);
    await buildResource(own.database, base);
    await deleteKnowledgeBase(own.knowledge.deps, base.org_id, base.knowledge_base_id, NOT_AUDITED);
    await expect(
      deleteKnowledgeBase(own.knowledge.deps, base.org_id, base.knowledge_base_id, NOT_AUDITED),
    ).rejects.toMatchObject({
      code: "not_found",
    });
    await purgeKnowledge({ ...own.knowledge.deps, blobs });
    expect(await countRows(base)).toEqual({ ...before, bases: 1, indexes: 1 });
    expect(await texts(other, "other")).toEqual(["Of the other one."]);
  });

  it("keeps searching the old index until the new one, with another model, is complete", async () => {
    const base = await buildBase(own.database, { model: "test-embedding" });
    const resource_id = await addResource(own, base, ["An old chunk about apples."]);
    const { org_id, knowledge_base_id } = base;
    const building = await own.database.org(org_id, (db) =>
      insertIndex(db, { ...base.index, state: "building", embedding_model: "another-model", dimensions: null }),
    );
    const revision = (await beginRevision(own.database, org_id, resource_id)) ?? 0;
    await indexResource(
      own.knowledge.deps,
      building,
      { resource_id, revision },
      chunksOf(["A new chunk about apples."]),
    );
    expect(await texts(base, "apples")).toEqual(["An old chunk about apples."]);
    const activate = (): Promise<boolean> =>
      own.database.orgTransaction(org_id, (db) => activateIndex(db, knowledge_base_id, building.index_no));
    expect(await activate()).toBe(true);
    expect(await texts(base, "apples")).toEqual(["A new chunk about apples."]);
    expect(await activate()).toBe(false);
    await purgeKnowledge({ ...own.knowledge.deps, blobs });
    expect(await countRows(base)).toMatchObject({ indexes: 1, chunks: 1, embeddings: 1 });
    expect(await texts(base, "apples")).toEqual(["A new chunk about apples."]);
  });
});
