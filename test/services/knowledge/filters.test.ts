import { beforeAll, describe, expect, it } from "vitest";
import type { KnowledgeAnswer } from "../../../src/domain/knowledge/query.ts";
import { addResource, ask, buildBase, ownKnowledge, type BuiltBase } from "./knowledge.ts";

const own = ownKnowledge();
let base: BuiltBase;

// Names that would act as SQL if they were inserted into a statement.
const HOSTILE = `x' = '' or true) --`;
const HOSTILE_JSON = `$1"}'::jsonb; drop table knowledge_chunks; --`;

beforeAll(async () => {
  const property = (type: "string" | "number" | "boolean" | "date" | "string_list") => ({
    type,
    description: "",
    order: 0,
  });
  base = await buildBase(own.database, {
    model: "test-embedding",
    user: {
      team: property("string"),
      year: property("number"),
      final: property("boolean"),
      day: property("date"),
      tags: property("string_list"),
      [HOSTILE]: property("string"),
      [HOSTILE_JSON]: property("number"),
    },
    dataloader: { author: property("string"), team: property("number") },
  });
  const add = (path: string, metadata: Record<string, string | number | boolean | string[]>): Promise<string> =>
    addResource(own, base, [`The report called ${path}.`], {
      path,
      user_metadata: metadata,
      dataloader_metadata: { author: `${path}-author` },
    });
  await add("a", { team: "red", year: 2024, final: true, day: "2026-01-31T00:00:00.000Z", tags: ["x", "y"] });
  await add("b", { team: "blue", year: 2025, final: false, day: "2026-02-01T00:00:00.000Z", tags: ["y"] });
  await add("c", { [HOSTILE]: "' or true --", [HOSTILE_JSON]: 7 });
});

const query = (filter: Record<string, unknown>, query_strategy: "keyword" | "semantic" | "hybrid" = "keyword") =>
  ask(own, own.knowledge, base, { query: "report", query_strategy, filter });
const paths = ({ results }: KnowledgeAnswer): string =>
  results
    .map((each) => each.resource_path)
    .toSorted()
    .join("");

describe("filters", () => {
  it.each([
    [{ field: "team", op: "eq", value: "red" }, "a"],
    [{ field: "team", op: "ne", value: "red" }, "bc"],
    [{ field: "team", op: "in", value: ["red", "blue"] }, "ab"],
    [{ field: "team", op: "nin", value: ["red"] }, "bc"],
    [{ field: "team", op: "contains", value: "lu" }, "b"],
    [{ field: "team", op: "gt", value: "blue" }, "a"],
    [{ field: "year", op: "gte", value: 2024.5 }, "b"],
    [{ field: "year", op: "lt", value: 10_000 }, "ab"],
    [{ field: "year", op: "exists" }, "ab"],
    [{ field: "year", op: "exists", value: false }, "c"],
    [{ field: "final", op: "eq", value: false }, "b"],
    [{ field: "day", op: "lt", value: "2026-02-01" }, "a"],
    [{ field: "day", op: "eq", value: "2026-02-01T01:00:00+01:00" }, "b"],
    [{ field: "tags", op: "contains", value: "x" }, "a"],
    [{ field: "tags", op: "in", value: ["x", "y"] }, "ab"],
    [{ field: "tags", op: "nin", value: ["x"] }, "bc"],
    [{ field: "author", op: "eq", value: "c-author" }, "c"],
    [{ field: "resource_path", op: "gte", value: "b" }, "bc"],
    [{ field: "size", op: "lte", value: 1 }, "abc"],
    [{ field: "created_at", op: "gt", value: "2020-01-01" }, "abc"],
    [
      { and: [{ field: "tags", op: "contains", value: "y" }, { not: [{ field: "team", op: "eq", value: "red" }] }] },
      "b",
    ],
    [
      {
        or: [
          { field: "team", op: "eq", value: "red" },
          { field: "author", op: "eq", value: "c-author" },
        ],
      },
      "ac",
    ],
    [{ not: { field: "team", op: "exists" } }, "c"],
  ])("%j matches the resources %s in keyword and semantic search", async (filter, expected) => {
    for (const strategy of ["keyword", "semantic", "hybrid"] as const) {
      const answer = await query(filter, strategy);
      expect(paths(answer)).toBe(expected);
      expect(answer.filter_report).toEqual({ matched_resources: expected.length });
    }
  });

  it("sql-by-filter-key: treat field names and values as data, whatever they contain", async () => {
    expect(paths(await query({ field: HOSTILE, op: "eq", value: "' or true --" }))).toBe("c");
    expect(paths(await query({ field: HOSTILE, op: "contains", value: "') or (true" }))).toBe("");
    expect(paths(await query({ field: HOSTILE_JSON, op: "gte", value: 7 }))).toBe("c");
    expect(paths(await query({ field: "team", op: "in", value: ["red'); --", `{"$1"}`] }))).toBe("");
    await expect(query({ field: "1=1 or team", op: "eq", value: "red" })).rejects.toMatchObject({
      code: "validation_error",
      issues: [{ loc: ["body", "filter", "field"], type: "unknown_field" }],
    });
    expect(paths(await query({ field: "team", op: "exists" }))).toBe("ab");
  });

  it.each([
    [{ field: "yaer", op: "eq", value: 1 }, ["field"]],
    [{ field: "__proto__", op: "exists" }, ["field"]],
    [{ field: "year", op: "eq", value: "2024" }, ["value"]],
    [{ field: "year", op: "in", value: [2024, "2025"] }, ["value"]],
    [{ field: "year", op: "in", value: [] }, ["value"]],
    [{ field: "year", op: "contains", value: 2 }, ["op"]],
    [{ field: "year", op: "=", value: 2 }, ["op"]],
    [{ field: "final", op: "gt", value: true }, ["op"]],
    [{ field: "day", op: "gt", value: "yesterday" }, ["value"]],
    [{ field: "day", op: "gt", value: "2026-02-31" }, ["value"]],
    [{ field: "year", op: "eq", value: 1, also: true }, ["also"]],
    [{ and: [] }, ["and"]],
    [{ or: [{ field: "year", op: "exists" }, 3] }, ["or", 1]],
    [{}, ["field"]],
  ])("refuse %j and report its location", async (filter, place) => {
    await expect(query(filter)).rejects.toMatchObject({ issues: [{ loc: ["body", "filter", ...place] }] });
  });

  it("that are too deep or too wide are refused", async () => {
    let deep: Record<string, unknown> = { field: "year", op: "exists" };
    for (let i = 0; i < 50; i += 1) deep = { not: [deep] };
    await expect(query(deep)).rejects.toThrow("10 levels");
    const wide = { or: Array.from({ length: 300 }, () => ({ field: "year", op: "exists" })) };
    await expect(query(wide)).rejects.toThrow("200 conditions");
  });
});
