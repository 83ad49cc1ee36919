import { z } from "zod";
import type { JsonObject } from "../../domain/json.ts";

/** The flow in the examples of the API document: small, but complete. */
export const EXAMPLE_FLOW: JsonObject = {
  schema_version: 1,
  name: "Greeter",
  nodes: [
    { id: "in-0", type: "input", config: { description: "Who is to be greeted" } },
    { id: "tpl-0", type: "template", config: { template: "Good morning, {{in-0}}!" } },
    { id: "out-0", type: "output" },
  ],
  edges: [
    { source: "in-0", target: "tpl-0" },
    { source: "tpl-0", target: "out-0" },
  ],
  examples: [{ name: "Ada", inputs: { "in-0": "Ada" } }],
};

/** A flow in a request or a response; the document describes its fields. */
export const flowSchema = z.looseObject({}).meta({ id: "Flow" });
