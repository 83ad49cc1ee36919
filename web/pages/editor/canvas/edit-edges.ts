import type { Connection, Edge } from "@xyflow/react";
import { edgeKey, edgesOf, graphAt, handleOf, nodeAt, pathOf } from "../../../flow/access.ts";
import type { FlowDocument, FlowEdge, Scope } from "../../../flow/document.ts";
import { whyNotConnect } from "../../../flow/fits.ts";
import { handlesOf } from "../../../flow/kinds.ts";
import { apply } from "../../../flow/history.ts";
import { announce } from "../../../parts/announce.tsx";
import { edgeId, splitEdgeId, splitPath, type ViewEdge } from "./graph-view.ts";
import type { End, Now, Space } from "./space.ts";

/** An edge of the document and the flow that it is in. */
interface Placed {
  readonly scope: Scope;
  readonly edge: FlowEdge;
}

export const makeEdge = (source: string, handle: string | null, target: string): FlowEdge => ({
  source,
  ...(handle !== null && handle !== "out" && { source_handle: handle }),
  target,
});

/** What people do with edges. */
export function createEdgeEdits(now: () => Now, { run, titleAt }: Space) {
  const between = (source: string, handle: string | null, target: string): Placed | null => {
    const [from, to] = [splitPath(source), splitPath(target)];
    if (pathOf(from.scope) !== pathOf(to.scope)) return null;
    return { scope: from.scope, edge: makeEdge(from.id, handle, to.id) };
  };
  const ofConnection = ({ source, sourceHandle, target }: Connection | Edge): Placed | null =>
    between(source, sourceHandle ?? null, target);
  /** The edge that an ID of the canvas stands for. */
  const storedEdge = (id: string): Placed | null => {
    const parts = splitEdgeId(id);
    if (parts === null) return null;
    const [scope, key] = parts;
    const edge = edgesOf(graphAt(now().state.document, scope)).find((each) => edgeKey(each) === key);
    return edge === undefined ? null : { scope, edge };
  };
  const refusal = (scope: Scope, edge: FlowEdge, document: FlowDocument = now().state.document): string | null =>
    whyNotConnect(document, scope, edge, now().kinds);
  const tryConnect = (scope: Scope, edge: FlowEdge): boolean => {
    const why = refusal(scope, edge);
    announce(why ?? `${titleAt(scope, edge.source)} connected to ${titleAt(scope, edge.target)}`);
    if (why === null) run(scope, { type: "connect", scope, edge });
    return why === null;
  };
  return {
    storedEdge,
    tryConnect,
    fits(connection: Connection | Edge): boolean {
      const found = ofConnection(connection);
      return found !== null && refusal(found.scope, found.edge) === null;
    },
    connect(connection: Connection): void {
      const found = ofConnection(connection);
      if (found) tryConnect(found.scope, found.edge);
    },
    /** Joins the end of an edge that is being drawn to a node that it is dropped on. */
    join(from: End, path: string): void {
      const { kindOf, state } = now();
      const { scope, id } = splitPath(path);
      const node = nodeAt(state.document, scope, id);
      if (!node) return;
      const handle = handlesOf(kindOf(node.type), node)[0] ?? "out";
      const found = from.handle === null ? between(path, handle, from.path) : between(from.path, from.handle, path);
      if (found) tryConnect(found.scope, found.edge);
    },
    reconnect(old: ViewEdge, connection: Connection): void {
      const [before, after] = [storedEdge(old.id), ofConnection(connection)];
      if (!before || !after || edgeId(before.scope, before.edge) === edgeId(after.scope, after.edge)) return;
      const { scope } = before;
      const { document, kinds } = now().state;
      const rest = apply(document, { type: "disconnect", scope, edges: [before.edge] }, kinds).document;
      const why = refusal(scope, after.edge, rest);
      announce(
        why ?? `Edge now leads from ${titleAt(scope, after.edge.source)} to ${titleAt(scope, after.edge.target)}`,
      );
      if (why !== null) return;
      const commands = [
        { type: "disconnect", scope, edges: [before.edge] },
        { type: "connect", scope, edge: after.edge },
      ] as const;
      run(scope, { type: "all", commands });
    },
    removeEdge(id: string): void {
      const found = storedEdge(id);
      if (!found) return;
      const { scope, edge } = found;
      run(scope, { type: "disconnect", scope, edges: [edge] }, {});
      announce(`Edge from ${titleAt(scope, edge.source)} by ${handleOf(edge)} deleted`);
    },
  };
}
