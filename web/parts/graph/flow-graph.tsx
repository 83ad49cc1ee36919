import { Controls, Handle, Position, ReactFlow } from "@xyflow/react";
import type { Edge, Node, NodeProps } from "@xyflow/react";
import { useMemo } from "react";
import type { JSX } from "react";
import { Icon } from "../icons.tsx";
import { lookOf } from "../status.tsx";
import { NODE_HEIGHT, NODE_WIDTH, layOut } from "./layout.ts";
import type { GraphEdge, GraphNode } from "./layout.ts";
import "@xyflow/react/dist/style.css";
import "./flow-graph.css";

type FlowNode = Node<{ readonly node: GraphNode; readonly onOpen: (id: string) => void }, "step">;

/** Read-only: nothing here can be moved, joined or deleted. */
const ARIA_LABELS = {
  "node.a11yDescription.default": "Press Enter to show the node's details.",
  "node.a11yDescription.keyboardDisabled": "Press Enter to show the node's details.",
  "edge.a11yDescription.default": "A connection.",
};
const NODE_TYPES = { step: Step };

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
  const drawn = nodes.map((node): FlowNode => {
    const { word } = lookOf(node.state ?? "Not begun");
    return {
      id: node.id,
      type: "step",
      position: places.get(node.id) ?? { x: 0, y: 0 },
      data: { node, onOpen },
      width: NODE_WIDTH,
      height: NODE_HEIGHT,
      selected: node.id === selected,
      ariaLabel: `${node.name}, ${node.type}: ${word}${node.note === null ? "" : `, ${node.note}`}`,
    };
  });
  const lines = edges.map((edge, index): Edge => ({
    id: String(index),
    source: edge.source,
    target: edge.target,
    type: "smoothstep",
    focusable: false,
    ...(edge.label !== null && { label: edge.label }),
    style: edge.taken ? { strokeWidth: 2 } : { strokeDasharray: "4 4", opacity: 0.7 },
  }));
  return (
    <div className="flow-graph">
      <ReactFlow<FlowNode>
        nodes={drawn}
        edges={lines}
        nodeTypes={NODE_TYPES}
        ariaLabelConfig={ARIA_LABELS}
        nodesDraggable={false}
        nodesConnectable={false}
        deleteKeyCode={null}
        fitView
        fitViewOptions={{ maxZoom: 1, padding: 0.1 }}
        minZoom={0.1}
        maxZoom={1.5}
        onlyRenderVisibleElements={nodes.length > 100}
        // By click or key. onSelectionChange would also speak of a selection that the address has just replaced.
        onNodesChange={(changes) => {
          for (const change of changes) if (change.type === "select" && change.selected) onSelect(change.id);
        }}
      >
        <Controls showInteractive={false} />
      </ReactFlow>
    </div>
  );
}

function Step({ data: { node, onOpen } }: NodeProps<FlowNode>): JSX.Element {
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
