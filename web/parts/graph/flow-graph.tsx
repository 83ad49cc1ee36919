import {
  Controls,
  Handle,
  Position,
  ReactFlow,
  type Edge,
  type Node,
  type NodeProps,
  type ReactFlowInstance,
  type Viewport,
} from "@xyflow/react";
import { createContext, useContext, useEffect, useMemo, useRef, useState, type JSX } from "react";
import { Icon } from "../icons.tsx";
import { lookOf } from "../status.tsx";
import { MANY_NODES } from "../../flow/layout/lay-out.ts";
import { NODE_HEIGHT, NODE_WIDTH, layOut, type GraphEdge, type GraphNode } from "./layout.ts";
import { isSeen, regionAround, regionFor, within, type Region } from "./region.ts";
import type { Place } from "../../flow/layout/layered.ts";
import "@xyflow/react/dist/style.css";
import "./flow-graph.css";

type FlowNode = Node<{ readonly node: GraphNode }, "step">;
/** The action of a node's button. It is not part of the node data, because that would change thousands of nodes at every render. */
const Opening = createContext<(id: string) => void>(() => undefined);

/** Read-only: nothing here can be moved, joined or deleted. */
const ARIA_LABELS = {
  "node.a11yDescription.default": "Press Enter to show the details of the node.",
  "node.a11yDescription.keyboardDisabled": "Press Enter to show the details of the node.",
  "edge.a11yDescription.default": "Edge.",
};
const NODE_TYPES = { step: Step };

/** Initial and smallest zoom of a large flow, so that only as many nodes show as draw quickly. */
const LARGE_ZOOM = 0.75;
const LARGE_MIN_ZOOM = 0.4;

/** Graph of a flow with the state of each node in a run. */
export function FlowGraph({
  nodes,
  edges,
  selected,
  onSelect,
  onOpen,
  isPlain = false,
}: {
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
  readonly selected: string | null;
  readonly onSelect: (id: string) => void;
  readonly onOpen: (id: string) => void;
  /** Shows a flow outside a run, where no node has a state of a run. */
  readonly isPlain?: boolean;
}): JSX.Element {
  // The shape of a flow does not change while it is shown, unlike the states, so it is the key for the layout.
  const shape = JSON.stringify([nodes.map(({ id }) => id), edges.map(({ source, target }) => [source, target])]);
  const places = useMemo(() => {
    const [ids, pairs] = JSON.parse(shape) as [string[], Array<[string, string]>];
    return layOut(ids, pairs);
  }, [shape]);
  const isLarge = nodes.length > MANY_NODES;
  const [flow, setFlow] = useState<ReactFlowInstance<FlowNode> | null>(null);
  const goTo = isLarge ? (places.get(selected ?? "") ?? places.get(nodes[0]?.id ?? "")) : undefined;
  const frame = useRef<HTMLDivElement>(null);
  const [region, setRegion] = useState<Region>(() => regionAround(goTo ?? { x: 0, y: 0 }));
  const look = (viewport: Viewport): void => setRegion((known) => regionFor(known, viewport, frame.current));
  const near = useMemo(
    () => (isLarge ? within(nodes, edges, places, region) : { nodes, edges }),
    [isLarge, nodes, edges, places, region],
  );
  const steps = useMemo(
    () => near.nodes.map((node) => stepOf(node, places.get(node.id), isPlain)),
    [near, places, isPlain],
  );
  const drawn = useMemo(
    () => steps.map((step) => (step.id === selected ? { ...step, selected: true } : step)),
    [steps, selected],
  );
  const lines = useMemo(() => near.edges.map((edge) => lineOf(edge, isPlain)), [near, isPlain]);
  // Fitting thousands of nodes into the window would draw all of them unreadably small, so the view starts at the selected node.
  const isPlaced = useRef(false);
  useEffect(() => {
    if (!flow || !goTo || (isPlaced.current && isSeen(goTo, flow.getViewport(), frame.current))) return;
    isPlaced.current = true;
    const middle = { x: goTo.x + NODE_WIDTH / 2, y: goTo.y + NODE_HEIGHT * 2 };
    void flow.setCenter(middle.x, middle.y, { zoom: flow.getZoom() }).then(() => look(flow.getViewport()));
  }, [flow, goTo]);
  return (
    <Opening value={onOpen}>
      <div className={isPlain ? "flow-graph flow-graph-plain" : "flow-graph"} ref={frame}>
        <ReactFlow<FlowNode>
          nodes={drawn}
          edges={lines}
          nodeTypes={NODE_TYPES}
          ariaLabelConfig={ARIA_LABELS}
          nodesDraggable={false}
          nodesConnectable={false}
          deleteKeyCode={null}
          fitView={!isLarge}
          fitViewOptions={{ maxZoom: 1, padding: 0.1 }}
          minZoom={isLarge ? LARGE_MIN_ZOOM : 0.1}
          maxZoom={1.5}
          defaultViewport={{ x: 0, y: 0, zoom: isLarge ? LARGE_ZOOM : 1 }}
          onInit={setFlow}
          onMove={(_, viewport) => look(viewport)}
          // onSelectionChange would also report a selection that a change of the URL has just replaced.
          onNodesChange={(changes) => {
            for (const change of changes) if (change.type === "select" && change.selected) onSelect(change.id);
          }}
        >
          <Controls showInteractive={false} />
        </ReactFlow>
      </div>
    </Opening>
  );
}

/** Fixed ends of the edges, so that the library need not draw each node to measure them. */
const HANDLES: NonNullable<FlowNode["handles"]> = [
  { type: "target", position: Position.Top, x: NODE_WIDTH / 2, y: 0, width: 1, height: 1 },
  { type: "source", position: Position.Bottom, x: NODE_WIDTH / 2, y: NODE_HEIGHT, width: 1, height: 1 },
];

function stepOf(node: GraphNode, position: Place | undefined, isPlain: boolean): FlowNode {
  const word = isPlain && node.state === null ? "" : `: ${lookOf(node.state ?? "Not started").word}`;
  return {
    id: node.id,
    type: "step",
    position: position ?? { x: 0, y: 0 },
    data: { node },
    width: NODE_WIDTH,
    height: NODE_HEIGHT,
    handles: HANDLES,
    ariaLabel: `${node.name}, ${node.type}${word}${node.note === null ? "" : `, ${node.note}`}`,
  };
}

const lineOf = (edge: GraphEdge, isPlain: boolean): Edge => ({
  id: JSON.stringify([edge.source, edge.label, edge.target, edge.change]),
  source: edge.source,
  target: edge.target,
  type: "smoothstep",
  focusable: false,
  ...(edge.label !== null && { label: edge.label }),
  ...(edge.change !== undefined && { className: `graph-edge-${edge.change}` }),
  style: edge.taken ? { strokeWidth: isPlain ? 1.5 : 2 } : { strokeDasharray: "4 4", opacity: 0.7 },
});

function Step({ data: { node } }: NodeProps<FlowNode>): JSX.Element {
  const onOpen = useContext(Opening);
  const look = node.state === null ? null : lookOf(node.state);
  return (
    <div className={`graph-node ${look ? `tone-${look.tone}` : "graph-node-untouched"}`}>
      <Handle type="target" position={Position.Top} isConnectable={false} />
      <span className="graph-node-name">
        <strong title={node.id}>{node.name}</strong>
        {node.opens && (
          <button
            type="button"
            className="graph-node-open nopan"
            aria-label={`Open ${node.name}`}
            title="Open"
            onClick={(event) => {
              event.stopPropagation();
              onOpen(node.id);
            }}
          >
            <Icon name="open" />
          </button>
        )}
      </span>
      <span className="graph-node-state">
        {look && <Icon name={look.icon} />}
        {look?.word ?? node.type}
        <span className="muted">{node.note ?? (look ? node.type : null)}</span>
      </span>
      <Handle type="source" position={Position.Bottom} isConnectable={false} />
    </div>
  );
}
