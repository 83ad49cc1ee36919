import type { Scope } from "../../src/domain/flow/scope.ts";
import type { Json } from "../../src/domain/json.ts";

/** The scope of an expression or template outside maps and loops. */
export const scope = (nodes: Readonly<Record<string, Json>> = {}, more: Partial<Scope> = {}): Scope => ({
  nodes,
  inputs: {},
  run: { id: "run-1", user_id: null, metadata: {} },
  ...more,
});
