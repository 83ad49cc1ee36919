import { z } from "zod";
import { anyObject } from "../../json-schema.ts";
import { pathSchema, type FlowProblem, type Path } from "./problems.ts";

/** A value that expressions can read. */
const scopeValueSchema = z.object({
  key: z.string().describe("Key of the value, unique within the flow."),
  kind: z.enum(["node", "inputs", "run", "item", "index", "last"]),
  node_path: z
    .string()
    .nullable()
    .describe("The node that provides the value; for `item`, `index` and `last` the map or loop."),
  liquid: z.string().describe("How to write the value in a Liquid template."),
  cel: z.string().describe("How to write the value in a CEL expression."),
  schema: anyObject.describe("JSON Schema 2020-12 of the value; empty if nothing is known."),
});
export type ScopeValue = Readonly<z.output<typeof scopeValueSchema>>;

/** The data that the nodes of a flow can refer to: what `POST /v2/flows/validate?expand=scope` adds to the response. */
export const flowScopeSchema = z
  .object({
    values: z.array(scopeValueSchema),
    nodes: z.array(
      z.object({
        node_path: z.string(),
        path: pathSchema,
        sees: z.array(z.string()).describe("Keys of the values that expressions of the node can read."),
      }),
    ),
    edges: z.array(
      z.object({
        path: pathSchema,
        fits: z.boolean(),
        problem: z.string().nullable().describe("`code` of the problem that says why the edge does not fit."),
      }),
    ),
  })
  .meta({ id: "FlowScope" });
export type FlowScope = Readonly<z.output<typeof flowScopeSchema>>;

/** Collects the values that each node can read, while the flow is checked. */
export interface ScopeList {
  add(node: { readonly node_path: string; readonly path: Path }, values: readonly ScopeValue[]): void;
  addEdges(paths: readonly Path[]): void;
  /** `problems` are those of the whole flow; they determine which edges fit. */
  result(problems: readonly FlowProblem[]): FlowScope;
}

export function createScopeList(): ScopeList {
  const values = new Map<string, ScopeValue>();
  const nodes: Array<FlowScope["nodes"][number]> = [];
  const edges: Path[] = [];
  return {
    add(node, seen) {
      for (const value of seen) values.set(value.key, value);
      nodes.push({ ...node, sees: seen.map(({ key }) => key) });
    },
    addEdges(paths) {
      edges.push(...paths);
    },
    result(problems) {
      const faults = new Map<string, string>();
      for (const { path, severity, code } of problems) {
        const at = path.findLastIndex((step, index) => step === "edges" && typeof path[index + 1] === "number");
        if (at !== -1 && severity === "error") faults.set(JSON.stringify(path.slice(0, at + 2)), code);
      }
      const checked = edges.map((path) => {
        const problem = faults.get(JSON.stringify(path)) ?? null;
        return { path, fits: problem === null, problem };
      });
      return { values: [...values.values()], nodes, edges: checked };
    },
  };
}
