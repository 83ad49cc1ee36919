import type { Json } from "../../json.ts";
import type { FlowDefinition, FlowEdge } from "../definition/definition.ts";
import type { Execution, NodeKind, RetryPolicy } from "../kinds.ts";
import type { NodeConfigs } from "../nodes/index.ts";
import type { Reads } from "../scope.ts";

/** One node of a plan, of any type: validated, with defaults filled in. */
interface AnyPlanNode {
  readonly id: string;
  readonly name?: string;
  readonly execution: Execution;
  readonly retry: RetryPolicy;
  /** Time limit of one attempt; absent if the type has none. */
  readonly timeout_ms?: number;
  readonly on_error: "fail" | "continue" | "branch";
  readonly default_output?: Json;
  readonly skip_if?: string;
  readonly reads: Reads;
  /** For an output without a text: by source, the field of the source's value that it returns; a missing entry means the whole value. */
  readonly shown?: Readonly<Record<string, string>>;
  /** The only node that is due after this one (see chains.ts). */
  readonly next?: string;
  /** The flow inside a map or a loop. */
  readonly nested?: Plan;
}

/** A node of one type, with the type's parsed configuration. A nested flow is in `nested`, not in the configuration. */
export type PlanNodeOf<Kind extends NodeKind> = Kind extends NodeKind
  ? AnyPlanNode & { readonly type: Kind; readonly config: NodeConfigs[Kind] }
  : never;
export type PlanNode = PlanNodeOf<NodeKind>;

export type PlanEdge = Readonly<Required<FlowEdge>>;

export type FlowSettings = Readonly<NonNullable<FlowDefinition["settings"]>>;

/** A compiled flow: what the interpreter walks. Plain JSON, at most 1 MiB. */
export interface Plan {
  readonly nodes: readonly PlanNode[];
  readonly edges: readonly PlanEdge[];
  readonly settings: FlowSettings;
  /** The number of the rules for expressions it was compiled under (see expressions/rules.ts); absent means 1. */
  readonly rules?: number;
}
