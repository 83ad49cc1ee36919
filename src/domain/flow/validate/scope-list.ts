import type { JsonObject } from "../../json.ts";
import type { FlowProblem, Path } from "./problems.ts";

/** A value that expressions can read. */
export interface ScopeValue {
  /** Unique among the values of the flow. */
  readonly key: string;
  readonly kind: "node" | "inputs" | "run" | "item" | "index" | "last";
  /** The node whose value it is, or whose nested flow can read it. */
  readonly node_path: string | null;
  /** How to write it in a template, and in an expression. */
  readonly liquid: string;
  readonly cel: string;
  /** JSON Schema 2020-12; empty if nothing is known. */
  readonly schema: JsonObject;
}

/** The response fields that `POST /v2/flows/validate?expand=scope` adds. */
export interface FlowScope {
  readonly values: readonly ScopeValue[];
  readonly nodes: ReadonlyArray<{ readonly node_path: string; readonly path: Path; readonly sees: readonly string[] }>;
  readonly edges: ReadonlyArray<{ readonly path: Path; readonly fits: boolean; readonly problem: string | null }>;
}

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
