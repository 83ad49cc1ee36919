import { Controls, Handle, Position, ReactFlow } from "@xyflow/react";
import type { Edge, Node, NodeProps, ReactFlowInstance, Viewport } from "@xyflow/react";
import { createContext, useContext, useEffect, useMemo, useRef, useState } from "react";
import type { JSX } from "react";
import { Icon } from "../icons.tsx";
import { lookOf } from "../status.tsx";
import { MANY_NODES, NODE_HEIGHT, NODE_WIDTH, layOut } from "./layout.ts";
import { isSeen, regionAround, regionFor, within } from "./region.ts";
import type { Region } from "./region.ts";
import type { Place } from "./layered-layout.ts";
import type { GraphEdge, GraphNode } from "./layout.ts";
import "@xyflow/react/dist/style.css";
import "./flow-graph.css";

type FlowNode = Node<{ readonly node: GraphNode }, "step">;
/** What the button of a step does. Not in its data: that would be new at every draw, for thousands of them. */
const Opening = createContext<(id: string) => void>(() => undefined);

/** Read-only: nothing here can be moved, joined or deleted. */
const ARIA_LABELS = {
  "node.a11yDescription.default": "Press Enter to show the node's details.",
  "node.a11yDescription.keyboardDisabled": "Press Enter to show the node's details.",
  "edge.a11yDescription.default": "A connection.",
};
const NODE_TYPES = { step: Step };

/** How much of a large flow is seen at first, and at most: as many nodes as are drawn quickly. */
const LARGE_ZOOM = 0.75;
const LARGE_MIN_ZOOM = 0.4;

/** The picture of a flow, with what a run has made of each node. */
export function FlowGraph({
  nodes,
  edges,
  selected,
  onSelect,
  onOpen,
}: {
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
  readonly selected: string | null;
  readonly onSelect: (id: string) => void;
  readonly onOpen: (id: string) => void;
}): JSX.Element {
  // The shape of a flow never changes while it is looked at; states do, often.
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
  const steps = useMemo(() => near.nodes.map((node) => stepOf(node, places.get(node.id))), [near, places]);
  const drawn = useMemo(
    () => steps.map((step) => (step.id === selected ? { ...step, selected: true } : step)),
    [steps, selected],
  );
  const lines = useMemo(() => near.edges.map(lineOf), [near]);
  // Fitted into the window, thousands of nodes would be drawn at once and none could be read: one begins at the chosen one.
  const isPlaced = useRef(false);
  useEffect(() => {
    if (!flow || !goTo || (isPlaced.current && isSeen(goTo, flow.getViewport(), frame.current))) return;
    isPlaced.current = true;
    const middle = { x: goTo.x + NODE_WIDTH / 2, y: goTo.y + NODE_HEIGHT * 2 };
    void flow.setCenter(middle.x, middle.y, { zoom: flow.getZoom() }).then(() => look(flow.getViewport()));
  }, [flow, goTo]);
  return (
    <Opening value={onOpen}>
      <div className="flow-graph" ref={frame}>
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
          // By click or key. onSelectionChange would also speak of a selection that the address has just replaced.
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

/** Where lines begin and end: known, so that no node has to be drawn to find it out. */
const HANDLES: NonNullable<FlowNode["handles"]> = [
  { type: "target", position: Position.Top, x: NODE_WIDTH / 2, y: 0, width: 1, height: 1 },
  { type: "source", position: Position.Bottom, x: NODE_WIDTH / 2, y: NODE_HEIGHT, width: 1, height: 1 },
];

function stepOf(node: GraphNode, position: Place | undefined): FlowNode {
  const { word } = lookOf(node.state ?? "Not started");
  return {
    id: node.id,
    type: "step",
    position: position ?? { x: 0, y: 0 },
    data: { node },
    width: NODE_WIDTH,
    height: NODE_HEIGHT,
    handles: HANDLES,
    ariaLabel: `${node.name}, ${node.type}: ${word}${node.note === null ? "" : `, ${node.note}`}`,
  };
}

const lineOf = (edge: GraphEdge): Edge => ({
  id: JSON.stringify([edge.source, edge.label, edge.target]),
  source: edge.source,
  target: edge.target,
  type: "smoothstep",
  focusable: false,
  ...(edge.label !== null && { label: edge.label }),
  style: edge.taken ? { strokeWidth: 2 } : { strokeDasharray: "4 4", opacity: 0.7 },
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
            title="What is inside"
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
