import { z } from "zod";
import { cel, NO_RETRY, ONLY_OUT, remembersNothing, type NodeSpec } from "./spec.ts";

export const setConfig = z.strictObject({
  values: z.record(z.string().min(1).max(128), z.string()).describe("Name to CEL"),
});
export type SetConfig = z.infer<typeof setConfig>;

export const setSpec: NodeSpec<SetConfig> = {
  description: "An object of computed values",
  config: setConfig,
  execution: () => "inline",
  handles: () => ONLY_OUT,
  expressions: ({ values }) => Object.entries(values).map(([name, source]) => cel(source, "values", name)),
  remembers: remembersNothing,
  retry: NO_RETRY,
  io: {
    output: ({ values }) => ({
      type: "object",
      properties: Object.fromEntries(Object.keys(values).map((name) => [name, {}])),
      required: Object.keys(values),
    }),
  },
};
