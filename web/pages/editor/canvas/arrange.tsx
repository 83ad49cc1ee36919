import type { JSX } from "react";
import { graphAt, lockedIn, nodesOf } from "../../../flow/access.ts";
import { align, distribute, type Box } from "../../../flow/arrange.ts";
import type { FlowDocument, Point, Scope } from "../../../flow/document.ts";
import { tidy } from "../../../flow/layout/tidy.ts";
import { announce } from "../../../parts/announce.tsx";
import { FlowIcon } from "../../../parts/flow-icons.tsx";
import { Menu } from "../../../parts/menu.tsx";
import { useEditor } from "../editor-context.ts";
import { sizeOf, snap } from "./geometry.ts";
import { mirrored } from "./mirror.ts";
import { Tool } from "./tool.tsx";
import type { Edits } from "./use-canvas-edits.ts";

type Places = Readonly<Record<string, Point>>;
const ALIGNMENTS: ReadonlyArray<readonly [label: string, place: (boxes: ReadonlyMap<string, Box>) => Places]> = [
  ["Left edges", (boxes) => align(boxes, "left")],
  ["Centres", (boxes) => align(boxes, "center")],
  ["Right edges", (boxes) => align(boxes, "right")],
  ["Top edges", (boxes) => align(boxes, "top")],
  ["Middles", (boxes) => align(boxes, "middle")],
  ["Bottom edges", (boxes) => align(boxes, "bottom")],
  ["Equal gaps across", (boxes) => distribute(boxes, "x")],
  ["Equal gaps down", (boxes) => distribute(boxes, "y")],
];

/** Tidies the flow, or lines up what is selected. */
export function Arrange({ view, edits }: { readonly view: Scope; readonly edits: Edits }): JSX.Element {
  const { state, isReadOnly } = useEditor();
  const { scope, selection } = state;
  const isSelection = selection.nodes.length > 1;
  return (
    <>
      <Tool
        label={isSelection ? "Tidy up the selection" : "Tidy up"}
        keys="T"
        disabled={isReadOnly}
        onClick={() => tidyUp(edits, isSelection ? scope : view, isSelection ? selection.nodes : undefined)}
      >
        <FlowIcon name="tidy" />
      </Tool>
      {isSelection && !isReadOnly && (
        <Menu name="Align" closes>
          {ALIGNMENTS.map(([label, place]) => (
            <button
              key={label}
              type="button"
              className="button button-quiet"
              onClick={() => {
                const { stored, owns } = edits.measured(scope);
                const boxes = new Map(
                  selection.nodes.map((id) => [
                    id,
                    { ...(stored.get(id) ?? { x: 0, y: 0 }), ...(owns.get(id) ?? sizeOf(1)) },
                  ]),
                );
                edits.run(scope, { type: "moveNodes", scope, positions: snapped(place(boxes)) });
                announce(`${boxes.size} nodes aligned`);
              }}
            >
              {label}
            </button>
          ))}
        </Menu>
      )}
    </>
  );
}

const snapped = (places: Places): Places =>
  Object.fromEntries(Object.entries(places).map(([id, { x, y }]) => [id, { x: snap(x), y: snap(y) }]));

/** Arranges all nodes of a flow; with `ids` only those, while the others stay where they are. */
export function tidyUp(edits: Edits, scope: Scope, ids?: readonly string[]): void {
  const placed: FlowDocument = edits.placed(scope);
  const { owns } = edits.measured(scope);
  const command = tidy(placed, scope, owns, ids);
  const isAll = ids === undefined && lockedIn(placed, scope).size === 0;
  const places = new Map(Object.entries(command.positions));
  const turned = isAll ? mirrored(placed, scope, edits.kinds(), places, owns) : places;
  edits.run(scope, { ...command, positions: snapped(Object.fromEntries(turned)) });
  announce(`${ids?.length ?? nodesOf(graphAt(placed, scope)).length} nodes tidied up`);
}
