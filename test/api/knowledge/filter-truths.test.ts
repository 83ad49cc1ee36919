import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { openTenant } from "../tenant.ts";
import { create, index } from "./bases.ts";

/** For each column of the table: the metadata field of its type, the document's value, and a greater value. */
const COLUMNS = {
  '`""`': ["text", "", "x"],
  "`[]`": ["list", [], "x"],
  "`0`": ["count", 0, 1],
  "`false`": ["flag", false, true],
} as const;
const TYPES = { text: "string", list: "string_list", count: "number", flag: "boolean" } as const;

it("filters treat missing and empty values as docs/knowledge.md says", async () => {
  const tenant = await openTenant();
  const properties = Object.fromEntries(Object.entries(TYPES).map(([name, type]) => [name, { type }]));
  const { path, body: base } = await create(tenant, { user_metadata_schema: { properties } });
  const metadataOf: [string, object][] = Object.entries(COLUMNS).map(([column, [field, value]]) => [
    column,
    { [field]: value },
  ]);
  const ids = new Map<string, string>();
  for (const [column, user_metadata] of [...metadataOf, ["missing or `null`", {}] as const]) {
    const id = await index(tenant, base.knowledge_base_id, ["A mill."], { path: "a.txt", user_metadata: {} });
    // Set through the API; every other field of this document is null.
    const given = { text: null, list: null, count: null, flag: null, ...user_metadata };
    const { status } = await tenant.secret.patch(`${path}/resources/${id}`, { user_metadata: given });
    expect(status).toBe(200);
    ids.set(column, id);
  }
  const ask = async (field: string, op: string, value: unknown): Promise<Set<string> | null> => {
    const filter = { field, op, ...(value === undefined ? {} : { value }) };
    for (const each of [filter, { not: [{ not: [filter] }] }]) {
      const { status, body } = await tenant.secret.post(`${path}/query`, { query: "mill", top_k: 50, filter: each });
      if (status === 422) return null;
      if (each !== filter) return new Set(body.results.map((result: { resource_id: string }) => result.resource_id));
    }
    return null;
  };
  const docs = await readFile(new URL("../../../docs/knowledge.md", import.meta.url), "utf8");
  const lines = docs.slice(docs.indexOf("| filter ")).split("\n```")[0]?.split("\n") ?? [];
  const cells = (line: string): string[] =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim());
  const [, ...columns] = cells(lines[0] ?? "");
  expect(columns).toEqual(["missing or `null`", ...Object.keys(COLUMNS)]);
  const measured: string[][] = [];
  for (const line of lines.slice(2)) {
    const [name = ""] = cells(line);
    const [, op = "", which = ""] = /^`(\w+)` ?(.*)$/.exec(name) ?? [];
    const row: string[] = [];
    const missing = new Set<boolean>();
    for (const [column, [field, own, other]] of Object.entries(COLUMNS)) {
      const single = which === "that value" ? own : which === "false" ? false : which === "" ? undefined : other;
      // Lists cannot be compared with lists, so the operand is used as it is.
      const value = op === "in" || op === "nin" ? (Array.isArray(single) ? single : [single]) : single;
      const found = await ask(field, op, value);
      row.push(found === null ? "–" : found.has(ids.get(column) ?? "") ? "yes" : "no");
      if (found !== null) missing.add(found.has(ids.get("missing or `null`") ?? ""));
    }
    expect([name, missing.size]).toEqual([name, 1]);
    measured.push([name, missing.has(true) ? "yes" : "no", ...row]);
  }
  expect(measured).toEqual(lines.slice(2).map(cells));
  for (const [, [field]] of Object.entries(COLUMNS)) expect(await ask(field, "ne", null)).toBeNull();
});
