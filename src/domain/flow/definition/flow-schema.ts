import type { z } from "zod";
import type { Json, JsonObject } from "../../json.ts";
import { requestSchema } from "../../json-schema.ts";
import { edgeSchema, flowDefinitionSchema, nodeSchema } from "./definition.ts";
import { NODE_SPECS } from "../nodes/index.ts";
import { NODE_KINDS, type NodeKind } from "../kinds.ts";

type Members = Record<string, Json>;

/**
 * The published JSON Schema (2020-12) of the flow format, generated from the schemas that validate flows. It cannot express everything that
 * `checkFlow` checks, such as whether expressions parse, edges connect existing nodes, and IDs are unique.
 */
export function flowJsonSchema(): JsonObject {
  const { $schema, properties, $defs, ...flow } = requestSchema(flowDefinitionSchema);
  const graph: Members = {
    nodes: { type: "array", items: { $ref: "#/$defs/node" } },
    edges: { type: "array", items: { $ref: "#/$defs/edge" } },
  };
  const kinds = NODE_KINDS.map((kind) => [`node_${kind}`, nodeOf(kind)] as const);
  return {
    ...($schema === undefined ? {} : { $schema }),
    title: "Millrace flow",
    ...flow,
    properties: { ...(properties as Members), ...graph },
    $defs: {
      ...($defs as Members),
      graph: { type: "object", properties: graph, required: ["nodes", "edges"], additionalProperties: false },
      edge: part(edgeSchema),
      node: { oneOf: kinds.map(([name]) => ({ $ref: `#/$defs/${name}` })) },
      ...Object.fromEntries(kinds),
    },
  };
}

function nodeOf(kind: NodeKind): JsonObject {
  const spec = NODE_SPECS[kind];
  const node = part(nodeSchema);
  const config = part(spec.config);
  const members = config["properties"] as Members;
  const own = (config["required"] as readonly string[] | undefined) ?? [];
  const needed = spec.nested ? [...own, "flow"] : own;
  const whole: JsonObject = spec.nested
    ? { ...config, properties: { ...members, flow: { $ref: "#/$defs/graph" } }, required: needed }
    : config;
  return {
    ...node,
    description: spec.description,
    properties: { ...(node["properties"] as Members), type: { const: kind }, config: whole },
    required: ["id", "type", ...(needed.length > 0 ? ["config"] : [])],
  };
}

function part(schema: z.ZodType): JsonObject {
  const { $schema: _, $defs: _shared, ...rest } = requestSchema(schema);
  return rest;
}
