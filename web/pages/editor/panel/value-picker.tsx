import { useState, type JSX, type KeyboardEvent } from "react";
import { Icon } from "../../../parts/icons.tsx";
import { VALUE_TYPE } from "../../../parts/code/value-type.ts";
import { lastText, partsOf, type ValueNode } from "./scope-values.ts";

interface Row {
  readonly node: ValueNode;
  readonly level: number;
  readonly parts: readonly ValueNode[];
  readonly isOpen: boolean;
}

const MAX_LEVEL = 8;

/** The rows of a tree with these branches open. */
function rowsOf(nodes: readonly ValueNode[], open: ReadonlySet<string>, level = 1): readonly Row[] {
  return nodes.flatMap((node) => {
    const parts = level < MAX_LEVEL ? partsOf(node) : [];
    const isOpen = parts.length > 0 && open.has(node.key);
    return [{ node, level, parts, isOpen }, ...(isOpen ? rowsOf(parts, open, level + 1) : [])];
  });
}

/** The values in scope as a tree: arrows move and open, Enter inserts, and each can be dragged into a field. */
export function ValueTree({
  values,
  label,
  onInsert,
}: {
  readonly values: readonly ValueNode[];
  readonly label: string;
  /** Without it the tree only shows. */
  readonly onInsert?: (node: ValueNode) => void;
}): JSX.Element {
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const [current, setCurrent] = useState("");
  const rows = rowsOf(values, open);
  const at = Math.max(
    0,
    rows.findIndex(({ node }) => node.key === current),
  );
  const toggle = (key: string, isOpen: boolean): void =>
    setOpen((now) => new Set(isOpen ? [...now, key] : [...now].filter((each) => each !== key)));
  const move = (tree: HTMLElement, to: number): void => {
    const row = rows[Math.min(Math.max(to, 0), rows.length - 1)];
    if (row === undefined) return;
    setCurrent(row.node.key);
    tree.querySelectorAll<HTMLElement>("[role=treeitem]")[rows.indexOf(row)]?.focus();
  };
  const onKeyDown = (event: KeyboardEvent<HTMLElement>): void => {
    const row = rows[at];
    if (row === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    const tree = event.currentTarget;
    const parent = rows.slice(0, at).findLastIndex(({ level }) => level < row.level);
    const actions: Readonly<Record<string, () => void>> = {
      ArrowDown: () => move(tree, at + 1),
      ArrowUp: () => move(tree, at - 1),
      Home: () => move(tree, 0),
      End: () => move(tree, rows.length - 1),
      ArrowRight: () => (row.isOpen ? move(tree, at + 1) : row.parts.length > 0 && toggle(row.node.key, true)),
      ArrowLeft: () => (row.isOpen ? toggle(row.node.key, false) : parent !== -1 && move(tree, parent)),
      Enter: () => onInsert?.(row.node),
    };
    const action = actions[event.key];
    if (action === undefined) return;
    event.preventDefault();
    action();
  };
  return (
    <div className="values" role="tree" aria-label={label} tabIndex={-1} onKeyDown={onKeyDown}>
      {rows.map(({ node, level, parts, isOpen }, index) => (
        <div
          key={node.key}
          role="treeitem"
          className="values-row"
          aria-level={level}
          aria-expanded={parts.length > 0 ? isOpen : undefined}
          aria-selected={index === at}
          tabIndex={index === at ? 0 : -1}
          draggable={onInsert !== undefined}
          title={onInsert === undefined ? undefined : `Insert ${node.liquid}`}
          style={{ paddingInlineStart: `${(level - 1) * 14 + 4}px` }}
          onFocus={() => setCurrent(node.key)}
          onDoubleClick={() => onInsert?.(node)}
          onDragStart={(event) => {
            const { liquid, cel } = node;
            event.dataTransfer.setData(VALUE_TYPE, JSON.stringify({ liquid, cel }));
            event.dataTransfer.setData("text/plain", `{{ ${liquid} }}`);
            event.dataTransfer.effectAllowed = "copy";
          }}
        >
          <span
            className={`values-open ${isOpen ? "values-opened" : ""}`}
            aria-hidden="true"
            onClick={() => toggle(node.key, !isOpen)}
          >
            {parts.length > 0 && <Icon name="chevron" />}
          </span>
          <span className="values-name mono">{node.name}</span>
          <span className="values-type small muted">{node.type}</span>
          <span className="values-last small muted">{lastText(node) ?? ""}</span>
          {onInsert !== undefined && (
            <span className="values-insert small" aria-hidden="true" onClick={() => onInsert(node)}>
              Insert
            </span>
          )}
        </div>
      ))}
    </div>
  );
}
