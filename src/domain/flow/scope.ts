import type { Json } from "../json.ts";

/** The IDs of the nodes that an expression or template reads; "*" if they depend on values. */
export type Reads = readonly string[] | "*";

/** A path that an expression or template reads: a variable, and the keys below it. */
export type ReadPath = ReadonlyArray<string | number>;

/** The variables of expressions and templates. */
export interface Scope {
  readonly nodes: Readonly<Record<string, Json>>;
  readonly inputs: Readonly<Record<string, Json>>;
  readonly run: { readonly id: string; readonly user_id: string | null; readonly metadata: Json };
  readonly item?: Json;
  /** The event that fired a trigger; only for the expressions of the trigger's inputs. */
  readonly payload?: Json;
  readonly index?: number;
  readonly last?: Json;
}

/** The result of evaluating a node: its value, and its active handles. */
export interface NodeResult {
  readonly output: Json;
  /** Active handles; ["out"] unless the node type chooses. */
  readonly handles?: readonly string[];
}
