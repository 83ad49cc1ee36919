import type { Json } from "../../json.ts";
import type { FlowDefinition } from "../definition/definition.ts";
import type { Execution, NodeKind, RetryPolicy } from "../kinds.ts";
import type { NodeConfigs } from "../nodes/index.ts";
import type { Reads } from "../scope.ts";

/** One node of a plan, whatever its kind: validated, defaults filled in. */
interface AnyPlanNode {
  readonly id: string;
  readonly name?: string;
  readonly execution: Execution;
  readonly retry: RetryPolicy;
  /** Longest time of one attempt; absent if the kind has none. */
  readonly timeout_ms?: number;
  readonly on_error: "fail" | "continue" | "branch";
  readonly default_output?: Json;
  readonly skip_if?: string;
  readonly reads: Reads;
  /** By source, the member of the source's value that an output without a text returns; missing for the whole value. */
  readonly shown?: Readonly<Record<string, string>>;
  /** The flow inside a map or a loop. */
  readonly nested?: Plan;
}

/** A node of a kind, with the kind's own configuration as its schema parsed it. A nested flow is in `nested`, not there. */
export type PlanNodeOf<Kind extends NodeKind> = Kind extends NodeKind
  ? AnyPlanNode & { readonly type: Kind; readonly config: NodeConfigs[Kind] }
  : never;
export type PlanNode = PlanNodeOf<NodeKind>;

export interface PlanEdge {
  readonly source: string;
  readonly source_handle: string;
  readonly target: string;
}

export type FlowSettings = Readonly<NonNullable<FlowDefinition["settings"]>>;

/** A compiled flow: what the interpreter walks. Plain JSON, at most 1 MiB. */
export interface Plan {
  readonly nodes: readonly PlanNode[];
  readonly edges: readonly PlanEdge[];
  readonly settings: FlowSettings;
  /** The rules of expressions it was compiled under; see expressions/rules.ts. Absent: 1. */
  readonly rules?: number;
}
