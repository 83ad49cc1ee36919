import type { Scope } from "../../src/domain/flow/plan/types.ts";
import type { Json } from "../../src/domain/json.ts";

/** What an expression or template sees where it stands in no map and no loop. */
export const scope = (nodes: Readonly<Record<string, Json>> = {}, more: Partial<Scope> = {}): Scope => ({
  nodes,
  inputs: {},
  run: { id: "run-1", user_id: null, metadata: {} },
  ...more,
});
