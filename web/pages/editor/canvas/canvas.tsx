import {
  Background,
  BackgroundVariant,
  MiniMap,
  ReactFlow,
  ReactFlowProvider,
  SelectionMode,
  useReactFlow,
  type EdgeChange,
  type FinalConnectionState,
  type NodeChange,
  type Connection as Joined,
} from "@xyflow/react";
import {
  useCallback,
  useMemo,
  useRef,
  useState,
  type Dispatch,
  type DragEvent,
  type JSX,
  type SetStateAction,
} from "react";
import { graphAt, nodesOf, pathOf } from "../../../flow/access.ts";
import type { Point, Scope } from "../../../flow/document.ts";
import { useEditor } from "../editor-context.ts";
import { marksOf, misfitsOf } from "../marks.ts";
import { CanvasActions } from "./canvas-actions.ts";
import { ConnectDialog } from "./connect-dialog.tsx";
import { ContextMenu } from "./context-menu.tsx";
import { EdgeTools } from "./edge-tools.tsx";
import { GRID, NODE_WIDTH } from "./geometry.ts";
import { Drawing, type ViewEdge, type ViewInput, type ViewNode } from "./graph-view.ts";
import { KIND_TYPE } from "./kind-type.ts";
import { Line } from "./line-edge.tsx";
import { NodeTools } from "./node-tools.tsx";
import { Sticky } from "./note-node.tsx";
import { Palette, cornerNear, type Opening } from "./palette.tsx";
import { Places } from "./places.ts";
import { reveal } from "./reveal.ts";
import { Step } from "./step-node.tsx";
import { besideCentre } from "./in-view.ts";
import { Tools } from "./tools.tsx";
import { useCanvasEdits } from "./use-canvas-edits.ts";
import { useCanvasKeys } from "./use-canvas-keys.ts";
import { useLook } from "./use-look.ts";
import "@xyflow/react/dist/style.css";
import "./canvas.css";
import "./step-node.css";

const NODE_TYPES = { step: Step, note: Sticky };
const EDGE_TYPES = { line: Line };
/** From these numbers of nodes on there is a minimap, and only what is visible is drawn. */
const WITH_MINIMAP = 50;
const MANY = 200;
/** Texts on nodes are not readable below this zoom. */
const FAR = 0.5;
const ARIA_LABELS = { "minimap.ariaLabel": "Minimap" };
const SELECT_KEYS = ["Shift", "Control", "Meta"];

export interface CanvasProps {
  readonly view: Scope;
  readonly expanded: ReadonlySet<string>;
  readonly setExpanded: Dispatch<SetStateAction<ReadonlySet<string>>>;
  readonly isLocked: boolean;
  readonly setLocked: (isLocked: boolean) => void;
  readonly mayEdit: boolean;
}

/** The flow as a graph that can be edited. */
export function Canvas(props: CanvasProps): JSX.Element {
  return (
    <ReactFlowProvider>
      <Inner {...props} />
    </ReactFlowProvider>
  );
}

function Inner({ view, expanded, setExpanded, isLocked, setLocked, mayEdit }: CanvasProps): JSX.Element {
  const { state, kinds, kindOf, check, problems, values, pins, isReadOnly } = useEditor();
  const { document, scope, selection } = state;
  const flow = useReactFlow<ViewNode, ViewEdge>();
  const frame = useRef<HTMLDivElement>(null);
  const [places] = useState(() => new Places(kinds));
  const [opening, setOpening] = useState<Opening | null>(null);
  const [connecting, setConnecting] = useState<string | null>(null);
  const [editing, setEditing] = useState<string | null>(null);
  const [hoveredEdge, setHoveredEdge] = useState<string | null>(null);
  // Places while nodes are dragged; the document gets them when they are dropped.
  const [dragged, setDragged] = useState<ReadonlyMap<string, Point>>(new Map());

  const marks = useMemo(() => marksOf(problems), [problems]);
  const misfits = useMemo(() => misfitsOf(document, check), [document, check]);
  const placesOf = useCallback<ViewInput["placesOf"]>(
    (of, sizes) => places.of(document, of, sizes),
    [document, places],
  );
  const [drawing] = useState(() => new Drawing());
  const drawn = useMemo(() => {
    const input = {
      document,
      view,
      expanded,
      kindOf,
      marks,
      misfits,
      values,
      pins,
      placesOf,
      scope,
      selection,
      isReadOnly,
    };
    return drawing.of(input);
  }, [drawing, document, view, expanded, kindOf, marks, misfits, values, pins, placesOf, scope, selection, isReadOnly]);
  const nodes = useMemo(
    () =>
      dragged.size === 0
        ? drawn.nodes
        : drawn.nodes.map((node) => {
            const position = dragged.get(node.id);
            return position === undefined ? node : { ...node, position, dragging: true };
          }),
    [drawn.nodes, dragged],
  );
  const isLarge = drawn.nodes.length > MANY;

  const edits = useCanvasEdits({ view, expanded, places, drawn });
  const { select, move, connect, fits, drop } = edits;
  const toggle = useCallback(
    (path: string): void => {
      // What is selected inside a flow that is collapsed would open it as a page.
      edits.leave(path);
      setExpanded((open) => {
        const next = new Set(open);
        if (!next.delete(path)) next.add(path);
        return next;
      });
    },
    [edits, setExpanded],
  );
  const actions = useMemo(() => {
    const { enter, editNote, resizeNote, colorNote } = edits;
    return { toggle, enter, editNote, resizeNote, colorNote, isReadOnly, editing, setEditing };
  }, [toggle, edits, isReadOnly, editing]);
  const [chosen, ...others] = selection.nodes;
  const shown = chosen !== undefined && others.length === 0 ? pathOf(scope, chosen) : null;
  const look = useLook(frame, flow, shown, isLarge);
  const [menu, setMenu] = useState<Point | null>(null);
  const commands = { view, edits, open: setOpening, connect: setConnecting, toggle, write: setEditing, fit: look.fit };
  useCanvasKeys({ ...commands, zoom: look.zoom, frame, drawn, menu: () => setMenu(placeOfMenu(frame.current)) });
  const onMenu = (event: Pick<MouseEvent, "clientX" | "clientY" | "preventDefault">, id: string | null): void => {
    event.preventDefault();
    setOpening(null);
    edits.choose(id);
    setMenu({ x: event.clientX, y: event.clientY });
  };

  const onNodesChange = (changes: ReadonlyArray<NodeChange<ViewNode>>): void => {
    const moved = new Map<string, Point>();
    for (const change of changes)
      if (change.type === "position" && change.dragging === true && change.position)
        moved.set(change.id, change.position);
    if (moved.size > 0) setDragged((before) => new Map([...before, ...moved]));
    select(changes.filter((change) => change.type === "select"));
  };
  const onEdgesChange = (changes: ReadonlyArray<EdgeChange<ViewEdge>>): void =>
    select(changes.filter((change) => change.type === "select"));
  const onDragStop = (_: unknown, __: unknown, moved: readonly ViewNode[]): void => {
    setDragged(new Map());
    move(moved);
  };
  const onConnectEnd = (event: MouseEvent | TouchEvent, connection: FinalConnectionState): void => {
    const { fromNode, fromHandle, isValid, toHandle } = connection;
    if (isValid === true || toHandle !== null || !fromNode || !fromHandle) return;
    const at = "changedTouches" in event ? event.changedTouches[0] : event;
    if (!at) return;
    const from = { path: fromNode.id, handle: fromHandle.type === "source" ? (fromHandle.id ?? "out") : null };
    const below = globalThis.document
      .elementFromPoint(at.clientX, at.clientY)
      ?.closest<HTMLElement>(".react-flow__node-step");
    if (below?.dataset["id"] !== undefined && below.dataset["id"] !== from.path)
      return edits.join(from, below.dataset["id"]);
    if (below) return;
    setOpening({
      from,
      at: flow.screenToFlowPosition({ x: at.clientX, y: at.clientY }),
      corner: cornerNear({ x: at.clientX, y: at.clientY }, frame.current),
    });
  };
  const onDrop = (event: DragEvent): void => {
    const type = event.dataTransfer.getData(KIND_TYPE);
    if (type === "" || isReadOnly) return;
    event.preventDefault();
    setOpening(null);
    drop(type, flow.screenToFlowPosition({ x: event.clientX, y: event.clientY }), edgeAt(event));
  };
  const isEmpty = nodesOf(graphAt(document, view)).length === 0;
  return (
    <CanvasActions value={actions}>
      <div
        className="editor-canvas"
        ref={frame}
        tabIndex={-1}
        onDragOver={(event) => event.preventDefault()}
        onDrop={onDrop}
      >
        <ReactFlow<ViewNode, ViewEdge>
          nodes={nodes as ViewNode[]}
          edges={drawn.edges as ViewEdge[]}
          nodeTypes={NODE_TYPES}
          edgeTypes={EDGE_TYPES}
          ariaLabelConfig={ARIA_LABELS}
          aria-label="Flow canvas"
          disableKeyboardA11y
          edgesFocusable={false}
          deleteKeyCode={null}
          selectionKeyCode="Shift"
          selectionMode={SelectionMode.Partial}
          multiSelectionKeyCode={SELECT_KEYS}
          nodesConnectable={!isReadOnly}
          edgesReconnectable={!isReadOnly}
          nodeDragThreshold={3}
          connectionRadius={28}
          snapToGrid
          snapGrid={SNAP}
          zoomOnDoubleClick={false}
          elevateNodesOnSelect={false}
          onlyRenderVisibleElements={isLarge}
          minZoom={0.1}
          maxZoom={2}
          onInit={() => look.begin(drawn.nodes)}
          onMoveStart={look.onMoveStart}
          onMove={(_, { zoom }) => frame.current?.toggleAttribute("data-far", zoom < FAR)}
          onNodesChange={onNodesChange}
          onEdgesChange={onEdgesChange}
          onNodeDragStop={onDragStop}
          onSelectionDragStop={(event, moved) => onDragStop(event, null, moved)}
          onNodeDoubleClick={(_, node) => node.type === "step" && node.data.isNested && edits.enter(node.id)}
          onConnect={(joined) => connect(joined)}
          onConnectEnd={onConnectEnd}
          onReconnect={(old, joined: Joined) => edits.reconnect(old, joined)}
          isValidConnection={fits}
          onEdgeMouseEnter={(_, edge) => setHoveredEdge(edge.id)}
          onNodeContextMenu={(event, node) => onMenu(event, node.id)}
          onEdgeContextMenu={(event, edge) => onMenu(event, edge.id)}
          onSelectionContextMenu={(event) => onMenu(event, drawn.nodes.find((node) => node.selected)?.id ?? null)}
          onPaneContextMenu={(event) => onMenu(event, null)}
          onPaneClick={() => {
            setHoveredEdge(null);
            setOpening(null);
          }}
        >
          <Background variant={BackgroundVariant.Dots} gap={GRID * 3} size={1.5} />
          {nodes.length > WITH_MINIMAP && <MiniMap pannable zoomable nodeClassName={miniClass} />}
          <EdgeTools
            edges={drawn.edges}
            hovered={hoveredEdge}
            onLeave={() => setHoveredEdge(null)}
            onInsert={(edge, at) =>
              setOpening({ edge, at, corner: cornerNear(flow.flowToScreenPosition(at), frame.current) })
            }
            onRemove={(edge) => edits.removeEdge(edge)}
          />
          {dragged.size === 0 && opening === null && (
            <NodeTools edits={edits} onAdd={setOpening} onConnect={setConnecting} />
          )}
        </ReactFlow>
        <Tools
          view={view}
          edits={edits}
          mayEdit={mayEdit}
          isLocked={isLocked}
          setLocked={setLocked}
          onAdd={() => setOpening(edits.afterSelected())}
          onNote={() => setEditing(edits.addNote(besideCentre(flow)))}
          onFit={look.fit}
          onZoom={look.zoom}
        />
        {isEmpty && opening === null && (
          <div className="canvas-empty">
            <h2>Empty flow</h2>
            <p>Add an input node to start.</p>
            {!isReadOnly && (
              <button type="button" className="button button-primary" onClick={() => setOpening({})}>
                Add node
              </button>
            )}
          </div>
        )}
        {opening !== null && !isReadOnly && (
          <Palette
            key={JSON.stringify(opening)}
            opening={opening}
            view={view}
            frame={frame}
            onClose={() => setOpening(null)}
            onChoose={(kind) => {
              setOpening(null);
              reveal(flow, frame.current, edits.add(kind, opening, middleOf(frame.current, flow)));
            }}
          />
        )}
        {menu !== null && (
          <ContextMenu {...commands} at={menu} frame={frame} expanded={expanded} onClose={() => setMenu(null)} />
        )}
        {connecting !== null && <ConnectDialog path={connecting} edits={edits} onClose={() => setConnecting(null)} />}
      </div>
    </CanvasActions>
  );
}

const SNAP: [number, number] = [GRID, GRID];
const miniClass = (node: ViewNode): string => (node.type === "step" ? `mini-${node.data.group}` : "mini-note");

type Flow = ReturnType<typeof useReactFlow<ViewNode, ViewEdge>>;

/** Where the menu opens by its key: below what is selected, else in the middle of the canvas. */
function placeOfMenu(frame: HTMLElement | null): Point {
  const chosen = frame
    ?.querySelector(".react-flow__node.selected, .react-flow__edge.selected")
    ?.getBoundingClientRect();
  const box = frame?.getBoundingClientRect();
  if (chosen) return { x: chosen.left + Math.min(chosen.width / 2, NODE_WIDTH), y: chosen.bottom };
  return { x: (box?.left ?? 0) + (box?.width ?? 0) / 2, y: (box?.top ?? 0) + (box?.height ?? 0) / 3 };
}

function middleOf(frame: HTMLElement | null, flow: Flow): Point {
  const box = frame?.getBoundingClientRect();
  return flow.screenToFlowPosition({
    x: (box?.left ?? 0) + (box?.width ?? 800) / 2,
    y: (box?.top ?? 0) + (box?.height ?? 600) / 2.5,
  });
}

/** The edge under a dropped node, by the canvas's ID. */
function edgeAt(event: DragEvent): string | null {
  const element = globalThis.document
    .elementsFromPoint(event.clientX, event.clientY)
    .find((each) => each.closest(".react-flow__edge"));
  return element?.closest<HTMLElement>(".react-flow__edge")?.dataset["id"] ?? null;
}
