import { beforeAll, describe, expect, it } from "vitest";
import { openTenant, type ApiTenant } from "../tenant.ts";
import type { Answer } from "../../support/client.ts";
import type { Metadata } from "../../../src/domain/knowledge/metadata.ts";
import { resourceIdentity } from "../../../src/services/knowledge/ingest.ts";
import type { Db } from "../../../src/stores/db.ts";
import { lockResource, lockResourceIdentity } from "../../../src/stores/knowledge/resource-ingest.ts";
import { create, index } from "./bases.ts";

let mine: ApiTenant;
beforeAll(async () => {
  mine = await openTenant();
});

interface Filled {
  retype(type: string): Promise<Answer>;
  values(): Promise<unknown[]>;
  find(op: string, value: unknown): Promise<unknown[]>;
}

/** Creates a knowledge base whose documents a, b, c... have these values in a field of this type, plus one document without the field. */
async function filled(type: string, values: ReadonlyArray<Metadata[string]>): Promise<Filled> {
  const schema = (of: string) => ({ user_metadata_schema: { properties: { field: { type: of } } } });
  const { path, body } = await create(mine, schema(type));
  const add = (name: string, user_metadata: Metadata) =>
    index(mine, body.knowledge_base_id, [`A word of ${name}.`], { path: name, user_metadata });
  for (const [at, value] of values.entries()) await add("abc"[at] ?? "", { field: value });
  await add("none", {});
  return {
    retype: (to) => mine.secret.patch(path, schema(to)),
    async values() {
      const list = await mine.secret.get(`${path}/resources`, { query: { order: "asc" } });
      return list.body.data.map((each: { user_metadata: Metadata }) => each.user_metadata["field"]);
    },
    async find(op, value) {
      const answer = await mine.secret.post(`${path}/query`, { query: "word", filter: { field: "field", op, value } });
      expect(answer.status, JSON.stringify(answer.body)).toBe(200);
      return answer.body.results.map((each: { resource_path: string }) => each.resource_path).toSorted();
    },
  };
}

describe("a new type of a metadata field", () => {
  it.each([
    ["string", ["2024", " 2025.5 "], "number", [2024, 2025.5], "gt", 2024.5],
    ["number", [1, 2.5], "string", ["1", "2.5"], "eq", "2.5"],
    ["string", ["false", "true"], "boolean", [false, true], "eq", true],
    [
      "string",
      ["2026-01-31", "2027-01-31"],
      "date",
      ["2026-01-31T00:00:00.000Z", "2027-01-31T00:00:00.000Z"],
      "eq",
      "2027-01-31",
    ],
    ["string", ["x", "y"], "string_list", [["x"], ["y"]], "contains", "y"],
    ["string_list", [["x"], ["y"]], "string", ["x", "y"], "eq", "y"],
  ] as const)("turns %s values %j into %s values %j", async (from, before, to, after, op, value) => {
    const base = await filled(from, before);
    expect((await base.retype(to)).status).toBe(200);
    expect(await base.values()).toEqual([...after, undefined]);
    expect(await base.find(op, value)).toEqual(["b"]);
  });

  it.each([
    ["string", ["2024", "soon"], "number"],
    ["string", ["9007199254740993"], "number"],
    ["string", ["2026-02-31"], "date"],
    ["string_list", [["x", "y"]], "string"],
    ["number", [1], "boolean"],
  ] as const)("is rejected for %s values %j as %s, and changes nothing", async (from, before, to) => {
    const base = await filled(from, before);
    const { status, body } = await base.retype(to);
    expect([status, body.detail]).toEqual([
      422,
      [
        {
          loc: ["body", "user_metadata_schema", "properties", "field", "type"],
          msg: expect.stringContaining(JSON.stringify(before.at(-1))),
          type: "wrong_type",
        },
      ],
    ]);
    expect(await base.values()).toEqual([...before, undefined]);
    expect(await base.find("exists", true)).toHaveLength(before.length);
  });
});

it("deletes exactly the values of a deleted field", async () => {
  const [kept, gone] = [{ kept: { type: "string" } }, { gone: { type: "string" }, toString: { type: "number" } }];
  const { path, body } = await create(mine, { user_metadata_schema: { properties: { ...kept, ...gone } } });
  const user_metadata = { kept: "a", gone: "b", toString: 1 };
  const id = await index(mine, body.knowledge_base_id, ["A word."], { path: "note", user_metadata });
  const change = (properties: object) => mine.secret.patch(path, { user_metadata_schema: { properties } });
  expect((await change({ gone: null, toString: null })).status).toBe(200);
  const values = async () => (await mine.secret.get(`${path}/resources/${id}`)).body.user_metadata;
  expect(await values()).toEqual({ kept: "a" });
  expect((await change({ gone: { type: "string" } })).status).toBe(200);
  expect(await values()).toEqual({ kept: "a" });
});

/** Runs `work` while `hold` keeps its locks; `work` can ask how many statements wait for them, directly or indirectly. */
async function whileHeld(
  hold: (db: Db) => Promise<unknown>,
  work: (waiting: () => Promise<number>) => Promise<void>,
): Promise<void> {
  await mine.withDatabase((database) =>
    database.orgTransaction(mine.org_id, async (db) => {
      await hold(db);
      const text = `with recursive behind (pid) as (select pg_backend_pid() union
          select l.pid from pg_locks l join behind b on b.pid = any (pg_blocking_pids(l.pid)) where not l.granted)
        select from behind where pid <> pg_backend_pid()`;
      await work(async () => (await db.query(text)).length);
    }),
  );
}

describe("a new type of a field during another change", () => {
  const schema = (type: string) => ({ user_metadata_schema: { properties: { field: { type } } } });
  const note = { text: "A word.", name: "note.txt", external_id: "note" };

  it("rejects a document that was sent with the old type", async () => {
    const { path, body } = await create(mine, schema("string"));
    let sent: Promise<Answer> = Promise.resolve({} as Answer);
    await whileHeld(
      (db) => lockResourceIdentity(db, body.knowledge_base_id, resourceIdentity(note)),
      async (waiting) => {
        sent = mine.secret.post(`${path}/resources`, { ...note, user_metadata: { field: "2024" } });
        await expect.poll(waiting).toBe(1);
        expect((await mine.secret.patch(path, schema("number"))).status).toBe(200);
      },
    );
    const { status, body: refused } = await sent;
    expect([status, refused.detail?.[0].loc]).toEqual([422, ["body", "user_metadata", "field"]]);
    expect((await mine.secret.get(`${path}/resources`)).body.data).toEqual([]);
  });

  it("waits for a change of a document in progress", async () => {
    const { path, body } = await create(mine, schema("string"));
    const id = await index(mine, body.knowledge_base_id, ["A word."], { path: "note" });
    const sent: Array<Promise<Answer>> = [];
    let isOver = false;
    await whileHeld(
      (db) => lockResource(db, body.knowledge_base_id, id),
      async (waiting) => {
        sent.push(mine.secret.patch(`${path}/resources/${id}`, { user_metadata: { field: "2024" } }));
        await expect.poll(waiting).toBe(1);
        sent.push(mine.secret.patch(path, schema("number")).finally(() => (isOver = true)));
        await expect.poll(async () => isOver || (await waiting()) === 2).toBe(true);
      },
    );
    expect((await Promise.all(sent)).map(({ status }) => status)).toEqual([200, 200]);
    expect((await mine.secret.get(`${path}/resources/${id}`)).body.user_metadata).toEqual({ field: 2024 });
  });
});
