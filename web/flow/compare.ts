import { allNotes, edgeKey, edgesOf, fieldOf, nestedOf, nodesOf, pathOf } from "./access.ts";
import { differences, type Difference } from "./differences.ts";
import type { FlowDocument, FlowEdge, FlowGraph, FlowNode, JsonObject, NodeKind, Note, Scope } from "./document.ts";
import { withNewIds } from "./renamed.ts";
import { withField } from "./update.ts";

/** Differences listed for one node. */
const MOST_FIELDS = 200;

export type Mark = "added" | "removed" | "changed" | "renamed" | "moved";

export interface NodeChange {
  readonly mark: Mark;
  readonly scope: Scope;
  readonly id: string;
  /** The ID that the node had before, if it has another one now; the mark is `renamed` if nothing else changed. */
  readonly was?: string;
  /** Under its new ID, and with the new IDs of the nodes that it names. */
  readonly before: FlowNode | undefined;
  readonly after: FlowNode | undefined;
  /** Differences by path (`config.prompt`), without the flow inside the node. Empty unless the mark is `changed`. */
  readonly fields: readonly Difference[];
}
export interface EdgeChange {
  readonly mark: "added" | "removed";
  readonly scope: Scope;
  readonly edge: FlowEdge;
}
export interface NoteChange {
  readonly mark: Mark;
  readonly id: string;
  readonly before: Note | undefined;
  readonly after: Note | undefined;
}

export interface Comparison {
  /** The flow before, with the IDs that its nodes have now. */
  readonly before: FlowDocument;
  readonly nodes: readonly NodeChange[];
  readonly edges: readonly EdgeChange[];
  readonly notes: readonly NoteChange[];
  /** Differences of the flow's name, description, settings and examples. */
  readonly fields: readonly Difference[];
  /** The change of a node by its path: `map-0/tpl-0`. */
  readonly byPath: ReadonlyMap<string, NodeChange>;
  /** Paths of maps and loops in which something changed. */
  readonly inside: ReadonlySet<string>;
}

/**
 * What is different in two flows, in nested flows too. A node is the same if it has the same ID in the same flow, or if it
 * was renamed there: references to its ID are then no difference.
 */
export function compareFlows(old: FlowDocument, after: FlowDocument, kinds: readonly NodeKind[] = []): Comparison {
  const { document: before, oldIds } = withNewIds(old, after, kinds);
  const nodes: NodeChange[] = [];
  const edges: EdgeChange[] = [];
  const inside = new Set<string>();
  const [places, newPlaces] = [fieldOf(before.ui, "positions"), fieldOf(after.ui, "positions")];

  const markAround = (scope: Scope): void => {
    for (let depth = scope.length; depth > 0; depth -= 1) inside.add(pathOf(scope.slice(0, depth)));
  };
  const isMoved = (path: string): boolean => {
    const [from, to] = [fieldOf(places, path), fieldOf(newPlaces, path)];
    return to !== undefined && (fieldOf(from, "x") !== fieldOf(to, "x") || fieldOf(from, "y") !== fieldOf(to, "y"));
  };

  const compareNode = (scope: Scope, one: FlowNode | undefined, other: FlowNode | undefined): void => {
    const id = other?.id ?? one?.id ?? "";
    const was = oldIds.get(pathOf(scope, id));
    const fields = one && other ? differences(withoutFlow(one), withoutFlow(other), MOST_FIELDS) : [];
    const mark =
      one === undefined
        ? "added"
        : other === undefined
          ? "removed"
          : fields.length > 0
            ? "changed"
            : was !== undefined
              ? "renamed"
              : isMoved(pathOf(scope, id))
                ? "moved"
                : null;
    if (mark !== null) {
      nodes.push({ mark, scope, id, ...(was !== undefined && { was }), before: one, after: other, fields });
      markAround(scope);
    }
    const [nested, newNested] = [nestedOf(one), nestedOf(other)];
    if (nested !== newNested) compareGraphs([...scope, id], nested, newNested);
  };

  const compareGraphs = (scope: Scope, one: FlowGraph | undefined, other: FlowGraph | undefined): void => {
    const byId = new Map(nodesOf(one).map((node) => [node.id, node]));
    const newIds = new Set(nodesOf(other).map(({ id }) => id));
    for (const node of nodesOf(other)) compareNode(scope, byId.get(node.id), node);
    for (const node of byId.values()) if (!newIds.has(node.id)) compareNode(scope, node, undefined);
    const [keys, newKeys] = [one, other].map((graph) => new Set(edgesOf(graph).map(edgeKey)));
    const changes = [
      ...edgesOf(other).flatMap((edge) => (keys?.has(edgeKey(edge)) ? [] : [{ mark: "added", scope, edge } as const])),
      ...edgesOf(one).flatMap((edge) =>
        newKeys?.has(edgeKey(edge)) ? [] : [{ mark: "removed", scope, edge } as const],
      ),
    ];
    edges.push(...changes);
    if (changes.length > 0) markAround(scope);
  };

  compareGraphs([], before, after);
  return {
    before,
    nodes,
    edges,
    notes: compareNotes(before, after),
    fields: differences(withoutGraph(before), withoutGraph(after), MOST_FIELDS),
    byPath: new Map(nodes.map((change) => [pathOf(change.scope, change.id), change])),
    inside,
  };
}

function compareNotes(before: FlowDocument, after: FlowDocument): NoteChange[] {
  const byId = new Map(allNotes(before).map((note) => [note.id, note]));
  const newIds = new Set(allNotes(after).map(({ id }) => id));
  const changes = allNotes(after).map((note): NoteChange | null => {
    const old = byId.get(note.id);
    if (old === undefined) return { mark: "added", id: note.id, before: undefined, after: note };
    const fields = differences(old, note, MOST_FIELDS);
    if (fields.length === 0) return null;
    const isMoved = fields.every(({ at }) => at === "x" || at === "y");
    return { mark: isMoved ? "moved" : "changed", id: note.id, before: old, after: note };
  });
  const removed = [...byId.values()].filter(({ id }) => !newIds.has(id));
  return [
    ...changes.filter((change) => change !== null),
    ...removed.map((note): NoteChange => ({ mark: "removed", id: note.id, before: note, after: undefined })),
  ];
}

const withoutFlow = (node: FlowNode): FlowNode =>
  nestedOf(node) === undefined ? node : { ...node, config: withField(node.config ?? {}, "flow", undefined) };

function withoutGraph(document: FlowDocument): JsonObject {
  const { nodes: _nodes, edges: _edges, ui: _ui, ...rest } = document;
  return rest;
}
