import type { JSX } from "react";
import { layerNodes } from "../../flow/layout/layered.ts";
import "./flow-picture.css";

interface PictureNode {
  readonly id: string;
  readonly type: string;
  readonly name?: string;
}
interface PictureEdge {
  readonly source: string;
  readonly target: string;
}

const NODE = { width: 132, height: 40 };
/** Distance from node to node: along the flow, and across it. */
const CELL = { along: 172, across: 58 };
const MARGIN = 8;
/** From this number of nodes on, names are too small to read. */
const NAMED = 14;
const NAME_LENGTH = 17;

/** A small picture of a flow from left to right, without interaction. For a flow to look at closely, use FlowGraph. */
export function FlowPicture({
  nodes,
  edges,
  groups,
  label,
}: {
  readonly nodes: readonly PictureNode[];
  readonly edges: readonly PictureEdge[];
  /** Groups of the node types, which set their colours. */
  readonly groups: ReadonlyMap<string, string>;
  /** Accessible name. */
  readonly label: string;
}): JSX.Element {
  // The layout is from the top down, so its sides are exchanged.
  const places = layerNodes(
    nodes.map(({ id }) => id),
    edges.map(({ source, target }) => [source, target] as const),
    { width: CELL.across, height: CELL.along },
  );
  const at = (id: string) => {
    const place = places.get(id);
    return place && { x: place.y, y: place.x };
  };
  const all = nodes.flatMap(({ id }) => at(id) ?? []);
  const [left, top] = [Math.min(0, ...all.map(({ x }) => x)), Math.min(...all.map(({ y }) => y), Infinity)];
  const [right, bottom] = [Math.max(0, ...all.map(({ x }) => x)), Math.max(...all.map(({ y }) => y), -Infinity)];
  const [width, height] = [right - left + NODE.width + 2 * MARGIN, bottom - top + NODE.height + 2 * MARGIN];
  if (all.length === 0) return <svg className="flow-picture" role="img" aria-label={label} viewBox="0 0 10 10" />;
  return (
    <svg
      className="flow-picture"
      role="img"
      aria-label={label}
      viewBox={`${left - MARGIN} ${top - MARGIN} ${width} ${height}`}
      style={{ maxWidth: width, maxHeight: height }}
    >
      {edges.map(({ source, target }, index) => {
        const [from, to] = [at(source), at(target)];
        if (!from || !to) return null;
        const [x1, y1] = [from.x + NODE.width, from.y + NODE.height / 2];
        const [x2, y2] = [to.x, to.y + NODE.height / 2];
        const bend = Math.max(20, Math.abs(x2 - x1) / 2);
        return (
          <path
            key={index}
            className="picture-edge"
            d={`M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`}
          />
        );
      })}
      {nodes.map((node) => {
        const place = at(node.id);
        if (!place) return null;
        return (
          <g key={node.id} transform={`translate(${place.x} ${place.y})`}>
            <rect
              className={`picture-node picture-${groups.get(node.type) ?? ""}`}
              width={NODE.width}
              height={NODE.height}
              rx="7"
            />
            {nodes.length <= NAMED && (
              <text className="picture-name" x={NODE.width / 2} y={NODE.height / 2 + 4.5}>
                {shortened(node.name ?? node.id)}
              </text>
            )}
          </g>
        );
      })}
    </svg>
  );
}

function shortened(name: string): string {
  const characters = [...name];
  return characters.length <= NAME_LENGTH ? name : `${characters.slice(0, NAME_LENGTH - 1).join("")}…`;
}
