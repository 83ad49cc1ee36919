import { edgesOf, graphAt, nodesOf, notesIn, pathOf, positionsIn } from "../../../flow/access.ts";
import { boundsOf } from "../../../flow/arrange.ts";
import type { Command, FlowDocument, NodeKind, Point, Scope, Size } from "../../../flow/document.ts";
import { freePlace, placesIn } from "../../../flow/layout/tidy.ts";
import { near, sizeOf } from "./geometry.ts";
import { mirrored } from "./mirror.ts";

/** Distance between a node and the one that is added below it. */
export const NEXT = 64;

/**
 * Places of nodes that the document gives none. They are found once and kept, so that a picture does not jump with
 * each change; a command that moves or adds a node writes them into the document.
 */
export class Places {
  readonly #kept = new Map<string, Point>();
  readonly #kinds: readonly NodeKind[];
  constructor(kinds: readonly NodeKind[]) {
    this.#kinds = kinds;
  }

  /** The places of all nodes of a flow. */
  of(document: FlowDocument, scope: Scope, sizes: ReadonlyMap<string, Size>): ReadonlyMap<string, Point> {
    const graph = graphAt(document, scope);
    const nodes = nodesOf(graph);
    const known = new Map([...positionsIn(document, scope)].map(([id, { x, y }]) => [id, { x: near(x), y: near(y) }]));
    for (const { id } of nodes) {
      const kept = known.has(id) ? undefined : this.#kept.get(pathOf(scope, id));
      if (kept !== undefined) known.set(id, kept);
    }
    const missing = nodes.filter(({ id }) => !known.has(id));
    if (missing.length === 0) return known;
    if (missing.length === nodes.length) {
      const laid = mirrored(document, scope, this.#kinds, placesIn(document, scope, sizes), sizes);
      for (const [id, point] of laid) known.set(id, point);
    } else {
      const boxOf = (id: string, { x, y }: Point) => ({ x, y, ...(sizes.get(id) ?? sizeOf(1)) });
      const taken = [...notesIn(document, scope), ...[...known].map(([id, at]) => boxOf(id, at))];
      for (const { id } of missing) {
        const source = edgesOf(graph).find((edge) => edge.target === id && known.has(edge.source))?.source ?? "";
        const above = known.get(source);
        const around = above === undefined ? boundsOf(taken) : boxOf(source, above);
        const box = boxOf(id, { x: around.x, y: around.y + around.height + NEXT });
        const at = freePlace(box, taken);
        known.set(id, at);
        taken.push({ ...box, ...at });
      }
    }
    for (const { id } of missing) this.#kept.set(pathOf(scope, id), known.get(id) ?? { x: 0, y: 0 });
    return known;
  }

  /** The command with the places that the document lacks, as one step. */
  written(document: FlowDocument, scope: Scope, command: Command): Command {
    const known = positionsIn(document, scope);
    const positions: Record<string, Point> = {};
    for (const { id } of nodesOf(graphAt(document, scope))) {
      const kept = this.#kept.get(pathOf(scope, id));
      if (!known.has(id) && kept !== undefined) positions[id] = kept;
    }
    if (Object.keys(positions).length === 0) return command;
    return { type: "all", commands: [{ type: "moveNodes", scope, positions }, command] };
  }
}
