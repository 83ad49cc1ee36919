import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { findPgvector } from "../../../bench/pgvector.ts";
import { startPostgres } from "../../../src/dev/postgres.ts";
import type { KnowledgeAnswer, KnowledgeQueryInput } from "../../../src/domain/knowledge/query.ts";
import { buildHnswIndexes } from "../../../src/services/knowledge/build-hnsw.ts";
import { indexResource } from "../../../src/services/knowledge/index-resource.ts";
import { deleteKnowledgeBase, deleteResource, purgeKnowledge } from "../../../src/services/knowledge/remove.ts";
import { openDatabase } from "../../../src/stores/db.ts";
import { migrate } from "../../../src/stores/migrate.ts";
import type { testDatabase } from "../../support/database.ts";
import { beginRevision, addResource, ask, buildBase, buildResource, chunksOf, ownKnowledge } from "./knowledge.ts";
import { NOT_AUDITED } from "../../support/not-audited.ts";

const pgvector = findPgvector();

/** A migrated database on a PostgreSQL with pgvector. */
async function databaseWithPgvector(): ReturnType<typeof testDatabase> {
  if ("no" in pgvector) throw new Error(pgvector.no);
  const dir = mkdtempSync(join(tmpdir(), "millrace-pgvector-"));
  chmodSync(dir, 0o711);
  const postgres = await startPostgres({ dir: join(dir, "postgres"), durable: false, binaries: pgvector });
  await migrate(postgres.url, fileURLToPath(new URL("../../../migrations", import.meta.url)));
  const options = { url: postgres.url, poolSize: 5, applicationName: "test", onError: () => undefined };
  const database = openDatabase(options);
  // With so few vectors, the planner would otherwise compare all of them.
  await database.system((db) =>
    db.query("do $$ begin execute format('alter database %I set enable_sort = off', current_database()); end $$"),
  );
  return {
    database,
    url: postgres.url,
    async close() {
      await database.close();
      await postgres.stop();
      rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

describe.skipIf("no" in pgvector)(`search with an HNSW index${"no" in pgvector ? `: ${pgvector.no}` : ""}`, () => {
  const own = ownKnowledge(databaseWithPgvector);
  const blobs = { delete: async () => undefined };

  it("finds the same as an exact comparison, follows every change, and is deleted with its knowledge base", async () => {
    const property = { type: "string", description: "", order: 0 } as const;
    const base = await buildBase(own.database, { model: "test-embedding", user: { part: property } });
    const small = await buildBase(own.database, { org_id: base.org_id, model: "test-embedding" });
    const words = ["river", "stone", "cloud", "window", "garden", "letter", "copper", "winter", "bridge", "engine"];
    const texts = Array.from({ length: 120 }, (_, i) =>
      [words[i % 10], words[(i * 7 + 3) % 10], words[Math.floor(i / 10) % 10], `number${i}`].join(" "),
    );
    await addResource(own, base, texts.slice(0, 60), { user_metadata: { part: "one" } });
    const second = await addResource(own, base, texts.slice(60), { user_metadata: { part: "two" } });
    await addResource(own, small, ["river stone of another knowledge base"]);

    const requests: KnowledgeQueryInput[] = [
      { query: "river stone", query_strategy: "semantic" },
      { query: "winter garden -letter", query_strategy: "semantic" },
      { query: "copper", query_strategy: "semantic", filter: { field: "part", op: "eq", value: "two" } },
      { query: "bridge engine" },
    ];
    const scoresOf = async (): Promise<number[][]> => {
      const answers: KnowledgeAnswer[] = [];
      for (const request of requests) answers.push(await ask(own, own.knowledge, base, request));
      // Chunks with the same words are equally near, so scores are compared instead of IDs.
      return answers.map(({ results }) => results.map((each) => each.scores.semantic ?? 0));
    };
    const exact = await scoresOf();
    expect(exact.map((scores) => scores.length)).toEqual([10, 10, 10, 10]);
    expect(await buildHnswIndexes(own.database, 100)).toBe(1);
    expect(await buildHnswIndexes(own.database, 100)).toBe(0);
    const approximate = await scoresOf();
    expect(approximate.map((scores) => scores.length)).toEqual([10, 10, 10, 10]);
    // The index also rounds the query to half precision.
    const differences = exact.flatMap((scores, i) =>
      scores.map((score, j) => Math.abs(score - (approximate[i]?.[j] ?? 9))),
    );
    expect(Math.max(...differences)).toBeLessThan(0.002);
    const planned = await own.database.search(base.org_id, (db) =>
      db.query<{ "QUERY PLAN": string }>(
        `explain select chunk_no from knowledge_vectors where index_no = ${base.index.index_no}
          order by embedding::halfvec(64) <=> '[${Array.from({ length: 64 }, () => 1).join(",")}]'::halfvec(64) limit 10`,
      ),
    );
    expect(JSON.stringify(planned)).toContain(`knowledge_vectors_hnsw_${base.index.index_no}`);

    // Chunks that are still being written are never found, even if they outnumber the candidates that the index examines.
    const bridges = async (): Promise<KnowledgeAnswer["results"]> =>
      (await ask(own, own.knowledge, base, { query: "bridge engine", top_k: 100 })).results;
    const found = await bridges();
    expect(found.filter(({ scores }) => scores.semantic !== null)).toHaveLength(100);
    for (const count of [10, 64]) {
      const resource_id = await buildResource(own.database, base);
      const revision = (await beginRevision(own.database, base.org_id, resource_id)) ?? 0;
      const texts = Array.from({ length: count }, () => "bridge engine");
      const stopped = indexResource(
        own.knowledge.deps,
        base.index,
        { resource_id, revision },
        chunksOf([...texts, "more"]),
        {
          onProgress: (done) => {
            if (done >= count) throw new Error("stopped");
          },
        },
      );
      await expect(stopped).rejects.toThrow("stopped");
      const again = await bridges();
      expect(again.slice(0, 20), `${count} chunks that are being written`).toEqual(
        // Normalised scores have floating-point noise.
        found.slice(0, 20).map((each) => ({ ...each, score: expect.closeTo(each.score, 6) })),
      );
      expect(again.filter(({ scores }) => scores.semantic !== null)).toHaveLength(100);
      await deleteResource({ ...own.knowledge.deps, blobs }, base.org_id, base.knowledge_base_id, resource_id);
    }

    await addResource(own, base, ["a zebra crosses"]);
    const zebra = await ask(own, own.knowledge, base, { query: "zebra", query_strategy: "semantic", top_k: 1 });
    expect(zebra.results[0]?.text).toBe("a zebra crosses");
    await deleteResource({ ...own.knowledge.deps, blobs }, base.org_id, base.knowledge_base_id, second);
    const part = { query: "copper", query_strategy: "semantic", top_k: 100 } as const;
    expect((await ask(own, own.knowledge, base, part)).results).toHaveLength(61);
    const vectors = (): Promise<unknown[]> => own.database.system((db) => db.query("select 1 from knowledge_vectors"));
    expect(await vectors()).toHaveLength(61);

    // If requested, a resource that has all the best matches leaves room for others.
    const camels = Array.from({ length: 450 }, (_, i) => `camel number${i}`);
    await addResource(own, base, camels);
    const mixed = { query: "camel", top_k: 3, max_chunks_per_resource: 1 } as const;
    for (const query_strategy of ["semantic", "hybrid"] as const)
      expect((await ask(own, own.knowledge, base, { ...mixed, query_strategy })).results, query_strategy).toHaveLength(
        3,
      );

    await deleteKnowledgeBase(own.knowledge.deps, base.org_id, base.knowledge_base_id, NOT_AUDITED);
    await purgeKnowledge({ ...own.knowledge.deps, blobs });
    expect(await vectors()).toEqual([]);
    const indexes = await own.database.system((db) =>
      db.query("select 1 from pg_class where relname like 'knowledge\\_vectors\\_hnsw%'"),
    );
    expect(indexes).toEqual([]);
  });
});
