import { useEffect, useId, useMemo, useRef, useState, type JSX, type RefObject } from "react";
import type { NodeKind } from "../../../api/flows.ts";
import { nodeAt } from "../../../flow/access.ts";
import type { Point, Scope } from "../../../flow/document.ts";
import { kindsAfter, kindsBefore, kindsBetween, kindsIn } from "../../../flow/fits.ts";
import { FlowIcon } from "../../../parts/flow-icons.tsx";
import { Icon } from "../../../parts/icons.tsx";
import { useEditor } from "../editor-context.ts";
import { useLatest } from "../latest.ts";
import { focusAgain } from "./focus.ts";
import { KIND_TYPE } from "./kind-type.ts";
import { splitPath } from "./graph-view.ts";
import { titleOf } from "./step-text.ts";
import type { End } from "./space.ts";

/** What a node is added for: an edge that was drawn to nowhere, an edge to put it on, or a place. */
export interface Opening {
  readonly from?: End;
  /** ID of an edge of the canvas. */
  readonly edge?: string;
  /** Place in the flow. */
  readonly at?: Point;
  /** Corner of the palette within the canvas, if it opens near something. */
  readonly corner?: Point;
}

/** Its size, so that it opens inside the canvas. */
const WIDTH = 300;
const HEIGHT = 420;
const EDGE = 8;
const GROUPS: Readonly<Record<string, string>> = {
  inputs: "Inputs",
  models: "Models",
  data: "Data",
  logic: "Logic",
  services: "Services",
  people: "People",
  outputs: "Outputs",
};

/** The node types that fit, by group: choose one by typing and Enter, by a click, or drag it onto the canvas. */
export function Palette({
  opening,
  view,
  frame,
  onChoose,
  onClose,
}: {
  readonly opening: Opening;
  readonly view: Scope;
  readonly frame: RefObject<HTMLElement | null>;
  readonly onChoose: (kind: NodeKind) => void;
  readonly onClose: () => void;
}): JSX.Element {
  const { kinds, state, kindOf } = useEditor();
  const [query, setQuery] = useState("");
  const [at, setAt] = useState(0);
  const list = useRef<HTMLDivElement>(null);
  const palette = useRef<HTMLDivElement>(null);
  const id = useId();
  const fitting = useMemo(() => {
    const scope = opening.from ? splitPath(opening.from.path).scope : view;
    if (opening.edge !== undefined) return kindsBetween(scope, kinds);
    if (opening.from === undefined) return kindsIn(scope, kinds);
    return opening.from.handle === null ? kindsBefore(scope, kinds) : kindsAfter(scope, kinds);
  }, [kinds, opening, view]);
  const found = useMemo(() => search(fitting, query), [fitting, query]);
  const chosen = found[Math.min(at, found.length - 1)];
  useEffect(() => {
    list.current?.querySelector("[aria-selected='true']")?.scrollIntoView({ block: "nearest" });
  }, [chosen]);
  const [before] = useState(() => document.activeElement);
  const close = (): void => {
    onClose();
    focusAgain(before, frame.current);
  };
  const latestClose = useLatest(close);
  useEffect(() => {
    const { current: element } = palette;
    const onKey = (event: KeyboardEvent): void => {
      if (event.key !== "Escape") return;
      event.preventDefault();
      latestClose()();
    };
    element?.addEventListener("keydown", onKey);
    return () => element?.removeEventListener("keydown", onKey);
  }, [latestClose]);
  const style = opening.corner && { left: opening.corner.x, top: opening.corner.y };
  const source = opening.from ? splitPath(opening.from.path) : null;
  const node = source && nodeAt(state.document, source.scope, source.id);
  const title = node
    ? `Add a node ${opening.from?.handle === null ? "before" : "after"} ${titleOf(node, kindOf(node.type))}`
    : "Add a node";
  return (
    <div className="palette" role="dialog" aria-label={title} style={style} ref={palette}>
      <div className="palette-head">
        <strong>{title}</strong>
        <button type="button" className="button button-quiet button-small" aria-label="Close" onClick={close}>
          <Icon name="cross" />
        </button>
      </div>
      <input
        className="input"
        type="search"
        placeholder="Search node types"
        aria-label="Search node types"
        role="combobox"
        aria-expanded="true"
        aria-controls={`${id}-list`}
        aria-activedescendant={chosen && `${id}-${chosen.type}`}
        autoComplete="off"
        value={query}
        ref={(field) => {
          if (field && field.dataset["seen"] === undefined) {
            field.dataset["seen"] = "";
            field.focus({ preventScroll: true });
          }
        }}
        onChange={(event) => {
          setQuery(event.target.value);
          setAt(0);
        }}
        onKeyDown={(event) => {
          const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
          if (step !== 0) {
            event.preventDefault();
            setAt((found.length + Math.min(at, found.length - 1) + step) % Math.max(1, found.length));
          }
          if (event.key === "Enter" && chosen) {
            event.preventDefault();
            onChoose(chosen);
          }
        }}
      />
      <div className="palette-kinds" id={`${id}-list`} role="listbox" aria-label="Node types" ref={list}>
        {found.length === 0 && <p className="muted small palette-none">No node types match this search.</p>}
        {[...byGroup(found, query.trim() !== "")].map(([group, members]) => (
          <div key={group} role="group" aria-label={group === "" ? "Found" : (GROUPS[group] ?? group)}>
            {group !== "" && (
              <p className="palette-group" aria-hidden="true">
                {GROUPS[group] ?? group}
              </p>
            )}
            {members.map((kind) => (
              <div
                key={kind.type}
                id={`${id}-${kind.type}`}
                role="option"
                aria-selected={kind === chosen}
                className={`palette-kind step-${kind.group}`}
                tabIndex={-1}
                draggable
                onDragStart={(event) => {
                  event.dataTransfer.setData(KIND_TYPE, kind.type);
                  event.dataTransfer.effectAllowed = "copy";
                }}
                onPointerMove={() => setAt(found.indexOf(kind))}
                onClick={() => onChoose(kind)}
                onKeyDown={(event) => {
                  if (event.key === "Enter") onChoose(kind);
                }}
              >
                <span className="step-icon">
                  <FlowIcon name={kind.icon} />
                </span>
                <span className="palette-texts">
                  <strong>{kind.title}</strong>
                  <span className="small muted">{kind.help}</span>
                </span>
              </div>
            ))}
          </div>
        ))}
      </div>
    </div>
  );
}

/** The node types with every word that was typed, those whose title begins with it first. */
function search(kinds: readonly NodeKind[], query: string): readonly NodeKind[] {
  const typed = query.trim().toLowerCase();
  if (typed === "") return kinds;
  const words = typed.split(/\s+/);
  const rank = ({ title, type }: NodeKind): number => {
    const name = title.toLowerCase();
    return name.startsWith(typed) || type === typed ? 0 : name.includes(typed) ? 1 : 2;
  };
  return kinds
    .filter(({ title, type, help, group }) => {
      const text = `${title} ${type} ${help} ${group}`.toLowerCase();
      return words.every((word) => text.includes(word));
    })
    .toSorted((one, other) => rank(one) - rank(other));
}

/** By group as listed; what was searched for stays in the order of the search. */
function byGroup(kinds: readonly NodeKind[], isSearch: boolean): ReadonlyMap<string, readonly NodeKind[]> {
  if (isSearch) return new Map([["", kinds]]);
  const groups = new Map<string, NodeKind[]>();
  for (const kind of kinds) groups.set(kind.group, [...(groups.get(kind.group) ?? []), kind]);
  return groups;
}

/** The corner of a palette that opens near a place of the window. */
export function cornerNear(screen: { readonly x: number; readonly y: number }, frame: HTMLElement | null): Point {
  const { left, top, width, height } = frame?.getBoundingClientRect() ?? new DOMRect();
  return {
    x: Math.max(EDGE, Math.min(screen.x - left, width - WIDTH - EDGE)),
    y: Math.max(EDGE, Math.min(screen.y - top, height - HEIGHT - EDGE)),
  };
}
