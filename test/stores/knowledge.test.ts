import { uuidv7 } from "uuidv7";
import { beforeAll, describe, expect, it } from "vitest";
import { insertIndex, listIndexes, retireIndex } from "../../src/stores/knowledge/indexes.ts";
import {
  findKnowledgeBase,
  listKnowledgeBases,
  updateKnowledgeBase,
} from "../../src/stores/knowledge/knowledge-bases.ts";
import {
  findResource,
  listResources,
  markResource,
  markResourceError,
  type ResourceSearch,
} from "../../src/stores/knowledge/resources.ts";
import { restartResource } from "../../src/stores/knowledge/resource-ingest.ts";
import type { Db } from "../../src/stores/db.ts";
import { buildBase, buildResource, type BuiltBase } from "../services/knowledge/knowledge.ts";
import { ownDatabase } from "./rows.ts";

const own = ownDatabase();
let base: BuiltBase;
let foreign: BuiltBase;
const page = { beyond: null, ascending: true, limit: 10 };
const everything: ResourceSearch = { statuses: null, path_prefix: null, content_mime: null, external_id: null };

beforeAll(async () => {
  base = await buildBase(own.database);
  foreign = await buildBase(own.database);
});
const inOrg = <T>(work: (db: Db) => Promise<T>): Promise<T> => own.database.org(base.org_id, work);

describe("knowledge bases as rows", () => {
  it("are listed with their totals, changed only at the revision that was read, and hidden from others", async () => {
    const resource_id = await buildResource(own.database, base, { path: "docs/a.md" });
    await buildResource(own.database, base, { path: "notes/b.md" });
    await inOrg(async (db) => {
      const id = base.knowledge_base_id;
      expect(await markResourceError(db, resource_id, 0, { code: "broken", message: "It is broken." })).toBe(true);
      const listed = await listKnowledgeBases(db, page);
      expect(listed).toMatchObject([
        { knowledge_base_id: id, total_files: 2, total_indexed_files: 0, total_error_files: 1, total_size: 2 },
      ]);
      expect(listed[0]?.reindex_required).toBe(false);
      expect(await updateKnowledgeBase(db, id, 1, { name: "renamed", schedule_cron: "0 0 * * *" })).toBe(true);
      expect(await updateKnowledgeBase(db, id, 1, { name: "too late" })).toBe(false);
      const params = { ...base.index.params, ocr: true };
      expect(await updateKnowledgeBase(db, id, 2, { indexing_params: params, schedule_cron: null })).toBe(true);
      expect(await findKnowledgeBase(db, id)).toMatchObject({
        name: "renamed",
        schedule_cron: null,
        revision: 3,
        reindex_required: true,
      });
      expect(await findKnowledgeBase(db, foreign.knowledge_base_id)).toBeNull();
      expect(await updateKnowledgeBase(db, foreign.knowledge_base_id, 1, { name: "taken" })).toBe(false);
    });
  });

  it("have resources, listed by status, path and more, with the steps of the current revision", async () => {
    await inOrg(async (db) => {
      const id = base.knowledge_base_id;
      const paths = async (search: Partial<ResourceSearch>): Promise<string[]> =>
        (await listResources(db, id, { ...everything, ...search }, page)).map((row) => row.resource_path);
      expect(await paths({})).toEqual(["docs/a.md", "notes/b.md"]);
      expect(await paths({ path_prefix: "docs/" })).toEqual(["docs/a.md"]);
      expect(await paths({ path_prefix: "%" })).toEqual([]);
      expect(await paths({ statuses: ["error"] })).toEqual(["docs/a.md"]);
      expect(await paths({ content_mime: "text/html" })).toEqual([]);
      expect(await paths({ external_id: "none" })).toEqual([]);
      const resource_id = (await listResources(db, id, everything, page))[0]?.resource_id ?? "";
      expect(await restartResource(db, resource_id)).toBe(1);
      const parsed = {
        status: "parsed",
        text_blob_key: "key",
        text_length: 9,
        page_count: 2,
        dataloader_metadata: { title: "x" },
      } as const;
      expect(await markResource(db, resource_id, 0, parsed)).toBe(false);
      expect(await markResource(db, resource_id, 1, { status: "resource" })).toBe(true);
      expect(await markResource(db, resource_id, 1, parsed)).toBe(true);
      expect(await findResource(db, id, resource_id)).toMatchObject({ ...parsed, error: null });
      expect(await findResource(db, id, uuidv7())).toBeNull();
      expect(await listResources(db, foreign.knowledge_base_id, everything, page)).toEqual([]);
    });
  });

  it("have at most one index that is being built", async () => {
    await inOrg(async (db) => {
      const building = { ...base.index, state: "building" as const };
      const first = await insertIndex(db, building);
      await expect(insertIndex(db, building)).rejects.toMatchObject({ constraint: "knowledge_indexes_building_key" });
      await retireIndex(db, first.index_no);
      expect(await insertIndex(db, building)).toMatchObject({ state: "building" });
      expect((await listIndexes(db, base.knowledge_base_id)).map((row) => row.state)).toEqual(["active", "building"]);
    });
  });
});
