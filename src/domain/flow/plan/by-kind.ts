import { KINDS, type KindTraits, type KindWith, type NodeKind } from "../kinds.ts";
import type { PlanNode, PlanNodeOf } from "./types.ts";

/** A table with an entry for every node type, or for each of some: a new type does not compile until it has one. */
export type ByKind<Args extends readonly unknown[], Result, Kinds extends NodeKind = NodeKind> = {
  readonly [Kind in Kinds]: (node: PlanNodeOf<Kind>, ...args: Args) => Result;
};

/** Calls the entry for the node's type. */
export function byKind<Args extends readonly unknown[], Result, Kinds extends NodeKind>(
  table: ByKind<Args, Result, Kinds>,
  node: PlanNodeOf<Kinds>,
  ...args: Args
): Result {
  // TypeScript cannot infer that the entry and the node have the same type.
  return (table[node.type as Kinds] as (node: PlanNode, ...args: Args) => Result)(node, ...args);
}

/** Narrows the node to this type; throws for a node of another type. */
export function ofKind<Kind extends NodeKind>(node: PlanNode, kind: Kind): PlanNodeOf<Kind> {
  if (node.type !== kind) throw new Error(`${node.id} is of kind ${node.type}, not ${kind}`);
  return node as PlanNodeOf<Kind>;
}

/** Whether this trait of the node's type has one of these values. */
export function hasTrait<Trait extends keyof KindTraits, Value extends KindTraits[Trait]>(
  node: PlanNode,
  trait: Trait,
  ...values: readonly Value[]
): node is PlanNodeOf<KindWith<Trait, Value>> {
  const traits: KindTraits = KINDS[node.type];
  return (values as ReadonlyArray<KindTraits[Trait]>).includes(traits[trait]);
}
