import type { useReactFlow } from "@xyflow/react";
import { nodeAt, pathOf } from "../../../flow/access.ts";
import type { Command, Point, Scope, Selection } from "../../../flow/document.ts";
import { handlesOf } from "../../../flow/kinds.ts";
import { freePlace } from "../../../flow/layout/tidy.ts";
import type { Editor } from "../editor-context.ts";
import { GROUP_PADDING, NODE_WIDTH, handleShare, sizeOf, snap } from "./geometry.ts";
import { measure, splitPath, type View, type ViewEdge, type ViewNode } from "./graph-view.ts";
import { NEXT, type Places } from "./places.ts";

export interface Given {
  readonly view: Scope;
  readonly expanded: ReadonlySet<string>;
  readonly places: Places;
  readonly drawn: View;
}
export type Now = Editor & Given;
export type Flow = ReturnType<typeof useReactFlow<ViewNode, ViewEdge>>;

/** An end of an edge that is being drawn; without a handle it is the node that the edge leads to. */
export interface End {
  readonly path: string;
  readonly handle: string | null;
}

export type Space = ReturnType<typeof createSpace>;

/** Where things are: nested flows that are shown in place have their own origin. */
export function createSpace(now: () => Now, flow: Flow) {
  const measured = (scope: Scope) => {
    const { state, expanded, kindOf, places } = now();
    const { document } = state;
    return measure({ document, expanded, kindOf, placesOf: (of, sizes) => places.of(document, of, sizes) }, scope);
  };
  const freeFrom = (scope: Scope, start: Point): Point => {
    const { sizes, places, toStored } = measured(scope);
    const taken = [...places].map(([id, { x, y }]) => ({ x, y, ...(sizes.get(id) ?? sizeOf(1)) }));
    const { x, y } = toStored(freePlace({ x: snap(start.x), y: snap(start.y), ...sizeOf(1) }, taken));
    return { x: snap(x), y: snap(y) };
  };
  return {
    measured,
    /** The place in the document for a node at the nearest free place. */
    freeFrom,
    /** Carries out a command on a flow, with the places of nodes that have none yet. */
    run(scope: Scope, command: Command, select?: Partial<Selection>): void {
      const { isReadOnly, places, state, dispatch } = now();
      if (isReadOnly) return;
      const written = places.written(state.document, scope, command);
      dispatch({
        type: "do",
        command: written,
        ...(select && { select: { nodes: [], edges: [], notes: [], ...select } }),
      });
    },
    /** Where the origin of a flow is on the canvas. */
    offsetOf(scope: Scope): Point {
      const { view, state, kindOf } = now();
      if (pathOf(scope) === pathOf(view)) return { x: 0, y: 0 };
      const group = flow.getInternalNode(pathOf(scope))?.internals.positionAbsolute ?? { x: 0, y: 0 };
      const node = nodeAt(state.document, scope.slice(0, -1), scope.at(-1) ?? "");
      const head = node === undefined ? 0 : sizeOf(handlesOf(kindOf(node.type), node).length).height;
      const { origin } = measured(scope);
      return { x: group.x + GROUP_PADDING - origin.x, y: group.y + head + GROUP_PADDING - origin.y };
    },
    /** The innermost flow at a point of the canvas. */
    scopeAt(at: Point): Scope {
      const { view, drawn } = now();
      let deepest = view;
      for (const node of drawn.nodes) {
        const corner =
          node.type === "step" && node.data.isOpen && flow.getInternalNode(node.id)?.internals.positionAbsolute;
        if (!corner || at.x < corner.x || at.y < corner.y) continue;
        const isInside = at.x <= corner.x + (node.width ?? 0) && at.y <= corner.y + (node.height ?? 0);
        const scope = node.id.split("/");
        if (isInside && scope.length > deepest.length) deepest = scope;
      }
      return deepest;
    },
    /** A place below a node, or above it for one that leads to it. */
    besides({ path, handle }: End): Point {
      const { scope, id } = splitPath(path);
      const { places, sizes } = measured(scope);
      const { x, y } = places.get(id) ?? { x: 0, y: 0 };
      const { width, height } = sizes.get(id) ?? sizeOf(1);
      const { kindOf, state } = now();
      const node = nodeAt(state.document, scope, id);
      const handles = node === undefined ? [] : handlesOf(kindOf(node.type), node);
      const share =
        handle === null ? 0.5 : handleShare(Math.max(0, handles.indexOf(handle)), Math.max(1, handles.length));
      const left = x + width * share - NODE_WIDTH / 2;
      return freeFrom(scope, { x: left, y: handle === null ? y - sizeOf(1).height - NEXT : y + height + NEXT });
    },
    titleAt: (scope: Scope, id: string): string => nodeAt(now().state.document, scope, id)?.name ?? id,
  };
}
