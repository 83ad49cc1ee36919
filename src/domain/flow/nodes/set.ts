import { z } from "zod";
import { cel, defineNode, remembersNothing } from "./spec.ts";

const config = z.strictObject({
  values: z.record(z.string().min(1).max(128), z.string()).describe("Name to CEL"),
});

export const setSpec = defineNode({
  description: "An object of computed values",
  config,
  execution: () => "inline",
  expressions: ({ values }) => Object.entries(values).map(([name, source]) => cel(source, "values", name)),
  remembers: remembersNothing,
  io: {
    output: ({ values }) => ({
      type: "object",
      properties: Object.fromEntries(Object.keys(values).map((name) => [name, {}])),
      required: Object.keys(values),
    }),
  },
});
