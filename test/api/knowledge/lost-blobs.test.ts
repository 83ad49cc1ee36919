import { beforeAll, describe, expect, it } from "vitest";
import { readCurrent } from "../../../src/api/knowledge/resource-download.ts";
import { BlobNotFound } from "../../../src/platform/blobs/blobs.ts";
import { openTenant, type ApiTenant } from "../tenant.ts";
import { create } from "./bases.ts";
import { settled } from "./knowledge-bases.ts";

let tenant: ApiTenant;
beforeAll(async () => {
  tenant = await openTenant();
});

it("a document whose stored files are lost is shown without text, and its download returns 404", async () => {
  const { path, body } = await create(tenant);
  const added = await tenant.secret.post(`${path}/resources`, { name: "a.txt", text: "Weirs hold water." });
  const { resource_id } = await settled(tenant, body.knowledge_base_id, added.body.resource_id);
  const gone = "left(blob_key, -4) || '0000'";
  await tenant.withDatabase((database) =>
    database.org(tenant.org_id, (db) =>
      db.query(
        `update knowledge_resources set blob_key = ${gone}, text_blob_key = ${gone} where resource_id = $1::uuid`,
        [resource_id],
      ),
    ),
  );
  const one = `${path}/resources/${resource_id}`;
  const shown = await tenant.secret.get(one, { query: { expand: "text" } });
  expect(shown).toMatchObject({ status: 200, body: { resource_id, status: "indexed", text: null } });
  expect((await tenant.secret.get(`${one}/download`)).status).toBe(404);
});

describe("a stored file that a new revision deletes during a request", () => {
  const row = (key: string) => ({ blob_key: key, text_blob_key: `${key} text` });
  const read = async ({ blob_key }: { blob_key: string }): Promise<string> => {
    if (blob_key !== "third") throw new BlobNotFound();
    return `content of ${blob_key}`;
  };

  it("is read from the latest revision", async () => {
    const later = ["second", "third"];
    expect(await readCurrent(row("first"), async () => row(later.shift() ?? ""), read)).toBe("content of third");
  });

  it("returns null if no newer revision exists", async () => {
    expect(await readCurrent(row("first"), async () => row("first"), read)).toBeNull();
  });

  it("fails for any other error", async () => {
    const failing = readCurrent(
      row("first"),
      async () => row("second"),
      () => Promise.reject(new Error("disk")),
    );
    await expect(failing).rejects.toThrow("disk");
  });
});
