import type { Json } from "../json.ts";

/** The node ids an expression or template reads; "*" where that depends on values. */
export type Reads = readonly string[] | "*";

/** What expressions and templates see. */
export interface Scope {
  readonly nodes: Readonly<Record<string, Json>>;
  readonly inputs: Readonly<Record<string, Json>>;
  readonly run: { readonly id: string; readonly user_id: string | null; readonly metadata: Json };
  readonly item?: Json;
  /** The event that made a trigger fire: only for the expressions of its inputs. */
  readonly payload?: Json;
  readonly index?: number;
  readonly last?: Json;
}

/** The result of one evaluation of a node: its value, and the handles that are live. */
export interface NodeResult {
  readonly output: Json;
  /** Live handles; ["out"] unless the kind chooses. */
  readonly handles?: readonly string[];
}
