import { uuidv7 } from "uuidv7";
import { beforeEach, describe, expect, it } from "vitest";
import * as documents from "../../src/stores/documents/documents.ts";
import type { Keyset } from "../../src/stores/keyset.ts";
import { buildTenant, ownDatabase, type Tenant } from "./rows.ts";

const own = ownDatabase();
let tenant: Tenant;
let handle: documents.DocumentHandle;

beforeEach(async () => {
  tenant = await buildTenant(own.database);
  handle = { project_id: tenant.project_id, node_id: "doc-0", user_id: "ada-1" };
});

function draft(overrides: Partial<documents.NewDocument> = {}): documents.NewDocument {
  return {
    file_id: uuidv7(),
    org_id: tenant.org_id,
    ...handle,
    filename: "a.txt",
    mime_type: "text/plain",
    size: 3,
    content_hash: "00",
    charset: null,
    blob_key: `${tenant.org_id}/${uuidv7()}`,
    ...overrides,
  };
}
async function insert(overrides: Partial<documents.NewDocument> = {}): Promise<documents.NewDocument> {
  const document = draft(overrides);
  expect(await inOrg((db) => documents.insertDocument(db, document))).toBe(true);
  return document;
}
const inOrg: <T>(work: Parameters<typeof own.database.org<T>>[1]) => Promise<T> = (work) =>
  own.database.org(tenant.org_id, work);
const all: Keyset = { beyond: null, ascending: true, limit: 10 };

describe("documents", () => {
  it("are inserted once, however often the upload is retried", async () => {
    const document = await insert();
    expect(await inOrg((db) => documents.insertDocument(db, document))).toBe(false);
    expect(await inOrg((db) => documents.getDocument(db, document.file_id))).toMatchObject({
      ...document,
      status: "pending",
      error: null,
      text_value: null,
      pages: null,
      indexed_at: null,
    });
  });

  it("belong to exactly one user ID, node and project", async () => {
    const { file_id } = await insert();
    await insert({ user_id: "ada-10" });
    await insert({ user_id: "ADA-1" });
    await insert({ user_id: "ada%" });
    await insert({ node_id: "doc-1" });
    const found = await inOrg((db) => documents.listDocuments(db, handle, null, all));
    expect(found.map((row) => row.file_id)).toEqual([file_id]);
    expect(await inOrg((db) => documents.listDocuments(db, { ...handle, user_id: "ada_1" }, null, all))).toEqual([]);
  });

  it("are listed by file name, page by page", async () => {
    const [a, b, c] = [await insert(), await insert({ filename: "b.txt" }), await insert({ filename: "c.txt" })];
    const list = async (filename: string | null, page = all) =>
      (await inOrg((db) => documents.listDocuments(db, handle, filename, page))).map((row) => row.file_id);
    expect(await list("b.txt")).toEqual([b.file_id]);
    expect(await list(null, { ...all, limit: 2 })).toEqual([a.file_id, b.file_id]);
    expect(await list(null, { beyond: b.file_id, ascending: true, limit: 2 })).toEqual([c.file_id]);
    expect(await list(null, { beyond: b.file_id, ascending: false, limit: 2 })).toEqual([a.file_id]);
  });

  it("are finalised once: the first of text and error stays", async () => {
    const [a, b] = [await insert(), await insert()];
    expect(await inOrg((db) => documents.markIndexed(db, a.file_id, { v: "text" }, 2))).toBe(true);
    expect(await inOrg((db) => documents.markError(db, a.file_id, { code: "late", message: "" }))).toBe(false);
    expect(await inOrg((db) => documents.getDocument(db, a.file_id))).toMatchObject({
      status: "indexed",
      text_value: { v: "text" },
      pages: 2,
      error: null,
    });
    expect(await inOrg((db) => documents.markError(db, b.file_id, { code: "encrypted", message: "No password" }))).toBe(
      true,
    );
    expect(await inOrg((db) => documents.markIndexed(db, b.file_id, { v: "" }, null))).toBe(false);
    expect(await inOrg((db) => documents.getDocument(db, b.file_id))).toMatchObject({
      status: "error",
      error: { code: "encrypted" },
    });
  });

  it("are deleted by name or all together, and the result lists the blobs to delete", async () => {
    const [a, b] = [await insert(), await insert({ filename: "b.txt" })];
    await insert({ user_id: "someone-else" });
    expect(await inOrg((db) => documents.deleteDocuments(db, handle, "a.txt", 10))).toEqual([
      { file_id: a.file_id, blob_key: a.blob_key, text_value: null },
    ]);
    expect(await inOrg((db) => documents.deleteDocuments(db, handle, null, 10))).toMatchObject([
      { file_id: b.file_id },
    ]);
    expect(await inOrg((db) => documents.deleteDocuments(db, handle, null, 10))).toEqual([]);
    expect(
      await inOrg((db) => documents.listDocuments(db, { ...handle, user_id: "someone-else" }, null, all)),
    ).toHaveLength(1);
  });

  it("replace the document of the same name, also in concurrent uploads", async () => {
    await insert({ filename: "b.txt" });
    const uploads = Array.from({ length: 12 }, () => draft());
    const removed = await Promise.all(
      uploads.map((upload) =>
        own.database.orgTransaction(tenant.org_id, async (db) => {
          await documents.lockFilename(db, upload, upload.filename);
          await documents.insertDocument(db, upload);
          return documents.deleteReplaced(db, upload);
        }),
      ),
    );
    expect(removed.flat()).toHaveLength(11);
    expect(await inOrg((db) => documents.listDocuments(db, handle, "a.txt", all))).toHaveLength(1);
    expect(await inOrg((db) => documents.listDocuments(db, handle, "b.txt", all))).toHaveLength(1);
  });

  it("that wait too long are found by the sweeper, for every organisation", async () => {
    const { file_id } = await insert();
    const indexed = await insert();
    await inOrg((db) => documents.markIndexed(db, indexed.file_id, { v: "" }, null));
    const waiting = await own.database.system((db) => documents.pendingDocuments(db, 0, 1000));
    expect(waiting).toContainEqual({ org_id: tenant.org_id, file_id });
    expect(waiting).not.toContainEqual({ org_id: tenant.org_id, file_id: indexed.file_id });
    expect(await own.database.system((db) => documents.pendingDocuments(db, 60_000, 1000))).toEqual([]);
  });

  it("keep file names that look like paths or code unchanged", async () => {
    for (const filename of ["../../etc/passwd", "%2e%2e%2f", "a'; drop table documents; --", "𝕏.txt", "__proto__"]) {
      await insert({ filename });
      expect(await inOrg((db) => documents.listDocuments(db, handle, filename, all))).toMatchObject([{ filename }]);
    }
  });
});
