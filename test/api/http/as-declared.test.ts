import { expect, test } from "vitest";
import { z } from "zod";
import { asDeclared } from "../../../src/api/http/schemas.ts";

const schema = z.object({ id: z.string(), note: z.string().nullable(), more: z.array(z.int()).optional() });

test("a row is shown with exactly the fields of its schema", () => {
  const row = { secret_hash: "3f", note: null, id: "a" };
  expect(JSON.stringify(asDeclared(schema, row))).toBe('{"id":"a","note":null}');
  expect(asDeclared(schema, { ...row, more: [1] })).toEqual({ id: "a", note: null, more: [1] });
});

test("nested objects and lists are shown in the same way, and what a schema leaves open stays whole", () => {
  const nested = z.object({ list: z.array(schema), one: schema.nullable(), open: z.record(z.string(), z.unknown()) });
  const row = { id: "a", note: null, secret_hash: "3f" };
  expect(asDeclared(nested, { list: [row], one: row, open: row })).toEqual({
    list: [{ id: "a", note: null }],
    one: { id: "a", note: null },
    open: row,
  });
});
