import type { JsonObject } from "../../src/domain/json.ts";

/** A flow that outputs its input, through a template, so that different texts make different flows. */
export function echoFlow(text = "{{in-0}}"): JsonObject {
  return {
    schema_version: 1,
    name: "Echo",
    nodes: [
      { id: "in-0", type: "input" },
      { id: "tpl-0", type: "template", config: { template: text } },
      { id: "out-0", type: "output" },
    ],
    edges: [
      { source: "in-0", target: "tpl-0" },
      { source: "tpl-0", target: "out-0" },
    ],
    examples: [{ name: "hello", inputs: { "in-0": "hello" } }],
  };
}
