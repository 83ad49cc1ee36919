import { edgesOf, fieldOf, graphAt, handleOf, nestedOf, nodesOf, pathOf } from "./access.ts";
import type { FlowDocument, FlowNode, NodeKind, Scope } from "./document.ts";
import { renameNodes, whyNotRename } from "./rename.ts";
import { withField } from "./update.ts";

/** What two nodes must have in common to be taken for one, if it is not their whole configuration. */
const SIGNS_NEEDED = 2;
/** Pairs compared in one flow; beyond it, nodes count as removed and added. */
const MOST_PAIRS = 40_000;

/** The old document with the IDs that renamed nodes have in the new one, and the old IDs by the new paths. */
export function withNewIds(
  old: FlowDocument,
  after: FlowDocument,
  kinds: readonly NodeKind[],
): { readonly document: FlowDocument; readonly oldIds: ReadonlyMap<string, string> } {
  let document = old;
  const oldIds = new Map<string, string>();
  const align = (scope: Scope): void => {
    // A node that names a renamed one, or is connected with it, is found once that one has its new ID.
    for (;;) {
      const ids = renamedIn(document, after, scope, kinds);
      if (ids.size === 0) break;
      document = renameNodes(document, scope, ids, kinds);
      for (const [id, to] of ids) oldIds.set(pathOf(scope, to), id);
    }
    const nested = new Set(nodesOf(graphAt(after, scope)).flatMap((node) => (nestedOf(node) ? [node.id] : [])));
    for (const node of nodesOf(graphAt(document, scope)))
      if (nestedOf(node) && nested.has(node.id)) align([...scope, node.id]);
  };
  align([]);
  return { document, oldIds };
}

interface Pair {
  readonly from: string;
  readonly to: string;
  readonly weight: number;
}

interface Traits {
  readonly id: string;
  readonly type: string;
  readonly name: string | undefined;
  /** The whole node without its ID. */
  readonly content: string;
  /** Whether it has no configuration by which to know it. */
  readonly isPlain: boolean;
  readonly place: string | undefined;
  /** The edges that lead to it, and from it. */
  readonly before: string;
  readonly after: string;
}

/** The nodes of one flow that have another ID now. A node is matched only if no other one matches as well. */
function renamedIn(
  before: FlowDocument,
  after: FlowDocument,
  scope: Scope,
  kinds: readonly NodeKind[],
): ReadonlyMap<string, string> {
  const [gone, come] = [traitsOf(before, after, scope), traitsOf(after, before, scope)];
  const pairs: Pair[] = [];
  const weights = new Map<string, number>();
  if (gone.length * come.length > MOST_PAIRS) return new Map();
  for (const one of gone)
    for (const other of come) {
      const weight = likeness(one, other);
      if (weight >= SIGNS_NEEDED) pairs.push({ from: one.id, to: other.id, weight });
    }
  // The best match of each node; null if two are as good.
  const best = new Map<string, Pair | null>();
  for (const pair of pairs)
    for (const key of [`from ${pair.from}`, `to ${pair.to}`]) {
      const most = weights.get(key) ?? 0;
      if (pair.weight < most) continue;
      best.set(key, pair.weight > most ? pair : null);
      weights.set(key, pair.weight);
    }
  const isBest = (pair: Pair): boolean => best.get(`from ${pair.from}`) === pair && best.get(`to ${pair.to}`) === pair;
  const ids = new Map<string, string>();
  for (const pair of pairs)
    if (isBest(pair) && whyNotRename(before, scope, pair.from, pair.to, kinds) === null) ids.set(pair.from, pair.to);
  return ids;
}

function likeness(one: Traits, other: Traits): number {
  if (one.type !== other.type) return 0;
  const same = (trait: "name" | "place" | "before" | "after"): number =>
    one[trait] !== undefined && one[trait] !== "" && one[trait] === other[trait] ? 1 : 0;
  const isSame = one.content === other.content;
  return (
    same("name") + same("place") + same("before") + same("after") + (isSame ? (one.isPlain ? 1 : SIGNS_NEEDED) : 0)
  );
}

/** The nodes of one flow that the other document does not have under their ID. */
function traitsOf(document: FlowDocument, other: FlowDocument, scope: Scope): Traits[] {
  const graph = graphAt(document, scope);
  const known = new Set(nodesOf(graphAt(other, scope)).map(({ id }) => id));
  const unknown = nodesOf(graph).filter(({ id }) => !known.has(id));
  if (unknown.length === 0) return [];
  const [before, after] = [new Map<string, string[]>(), new Map<string, string[]>()];
  for (const edge of edgesOf(graph)) {
    after.set(edge.source, [...(after.get(edge.source) ?? []), `${handleOf(edge)}>${edge.target}`]);
    before.set(edge.target, [...(before.get(edge.target) ?? []), `${edge.source}:${handleOf(edge)}`]);
  }
  const textOf = (edges: readonly string[] = []): string => edges.toSorted().join("\n");
  const places = fieldOf(document.ui, "positions");
  return unknown.map((node) => ({
    id: node.id,
    type: node.type,
    name: typeof node.name === "string" ? node.name : undefined,
    content: contentOf(node),
    isPlain: Object.keys(node.config ?? {}).length === 0,
    place: placeOf(fieldOf(places, pathOf(scope, node.id))),
    before: textOf(before.get(node.id)),
    after: textOf(after.get(node.id)),
  }));
}

const contentOf = (node: FlowNode): string => JSON.stringify(withField(node, "id", undefined));

const placeOf = (point: unknown): string | undefined =>
  point === undefined ? undefined : JSON.stringify([fieldOf(point, "x"), fieldOf(point, "y")]);
