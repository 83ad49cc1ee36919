import { expect, test } from "vitest";
import { z } from "zod";
import { asDeclared } from "../../../src/api/http/as-declared.ts";

const schema = z.object({ id: z.string(), note: z.string().nullable(), more: z.array(z.int()).optional() });

test("a row is shown with exactly the fields of its schema", () => {
  const row = { secret_hash: "3f", note: null, id: "a" };
  expect(JSON.stringify(asDeclared(schema, row))).toBe('{"id":"a","note":null}');
  expect(asDeclared(schema, { ...row, more: [1] })).toEqual({ id: "a", note: null, more: [1] });
});
