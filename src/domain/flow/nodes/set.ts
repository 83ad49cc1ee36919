import { z } from "zod";
import { objectSchema } from "../../json-schema.ts";
import { cel, defineNode, remembersNothing } from "./spec.ts";

const config = z.strictObject({
  values: z.record(z.string().min(1).max(128), z.string()).describe("Fields of the object: name to CEL expression"),
});

export const setSpec = defineNode({
  title: "Values",
  group: "data",
  icon: "braces",
  description: "An object of computed values",
  example: { values: { total: 'double(nodes["in-0"]) * 1.19', currency: '"EUR"' } },
  config,
  execution: () => "inline",
  expressions: ({ values }) => Object.entries(values).map(([name, source]) => cel(source, "values", name)),
  remembers: remembersNothing,
  io: { output: ({ values }) => objectSchema(Object.fromEntries(Object.keys(values).map((name) => [name, {}]))) },
});
