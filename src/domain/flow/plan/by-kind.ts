import { KINDS } from "../kinds.ts";
import type { KindTraits, KindWith, NodeKind } from "../kinds.ts";
import type { PlanNode, PlanNodeOf } from "./types.ts";

/** An entry for every kind, or for every one of some: a new kind does not compile until it has one. */
export type ByKind<Args extends readonly unknown[], Result, Kinds extends NodeKind = NodeKind> = {
  readonly [Kind in Kinds]: (node: PlanNodeOf<Kind>, ...args: Args) => Result;
};

/** Calls the entry of the node's kind. */
export function byKind<Args extends readonly unknown[], Result, Kinds extends NodeKind>(
  table: ByKind<Args, Result, Kinds>,
  node: PlanNodeOf<Kinds>,
  ...args: Args
): Result {
  // TypeScript cannot follow that the entry and the node are of one kind.
  return (table[node.type as Kinds] as (node: PlanNode, ...args: Args) => Result)(node, ...args);
}

/** The node, narrowed to this kind; throws for another. A part of a configuration belongs to one kind only. */
export function ofKind<Kind extends NodeKind>(node: PlanNode, kind: Kind): PlanNodeOf<Kind> {
  if (node.type !== kind) throw new Error(`${node.id} is of kind ${node.type}, not ${kind}`);
  return node as PlanNodeOf<Kind>;
}

/** Whether the kind of the node has one of these values as its trait. */
export function hasTrait<Trait extends keyof KindTraits, Value extends KindTraits[Trait]>(
  node: PlanNode,
  trait: Trait,
  ...values: readonly Value[]
): node is PlanNodeOf<KindWith<Trait, Value>> {
  const traits: KindTraits = KINDS[node.type];
  return (values as ReadonlyArray<KindTraits[Trait]>).includes(traits[trait]);
}
