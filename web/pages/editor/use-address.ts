import { useEffect, useState } from "react";
import { useSearchParams } from "react-router";
import { graphAt, nodeAt } from "../../flow/access.ts";
import type { Action, EditorState, FlowDocument, Scope } from "../../flow/document.ts";
import { PANELS, type Panel } from "./editor-context.ts";

/** What the address names: the open flow, the selected node, the panel, and the maps and loops that are open in place. */
export interface Place {
  readonly scope: Scope;
  readonly node: string | null;
  readonly panel: Panel | null;
  /** By path. */
  readonly expanded: ReadonlySet<string>;
}

export function placeIn(search: URLSearchParams): Place {
  const scope = (search.get("in") ?? "").split("/").filter((id) => id !== "");
  const panel = PANELS.find((each) => each === search.get("panel")) ?? null;
  return { scope, node: search.get("node"), panel, expanded: new Set(search.getAll("open")) };
}

/** The parameters of the address for a place; the ones of the panels stay. */
function searchOf({ scope, node, panel, expanded }: Place, others: URLSearchParams): string {
  const search = new URLSearchParams(others);
  const set = (name: string, value: string | null): void => {
    if (value === null) search.delete(name);
    else search.set(name, value);
  };
  set("in", scope.length === 0 ? null : scope.join("/"));
  set("node", node);
  // The tab belongs to the node that was shown.
  set("tab", null);
  set("panel", panel === "node" ? null : panel);
  set("open", null);
  for (const path of expanded) search.append("open", path);
  return search.toString();
}

const isSame = (one: Place, other: Place): boolean =>
  one.node === other.node &&
  one.panel === other.panel &&
  one.scope.join("/") === other.scope.join("/") &&
  [...one.expanded].join() === [...other.expanded].join();

/** Keeps the address and the editor in step: a link or the back button leads to a node, and what is shown has a link. */
export function useAddress(
  state: EditorState,
  { panel, expanded }: Pick<Place, "panel" | "expanded">,
  go: {
    readonly dispatch: (action: Action) => void;
    readonly setPanel: (panel: Panel | null) => void;
    readonly setExpanded: (expanded: ReadonlySet<string>) => void;
  },
): void {
  const [search, setSearch] = useSearchParams();
  const { scope, selection } = state;
  const node = selection.nodes.length === 1 ? (selection.nodes[0] ?? null) : null;
  const shown: Place = { scope, node, panel: panel === "node" ? null : panel, expanded };
  const address = search.toString();
  const [ledger] = useState(() => new Ledger(address, placeIn(search)));
  useEffect(() => {
    if (ledger.isNews(address)) {
      const asked = placeIn(search);
      ledger.agree(asked);
      if (isSame(asked, shown)) return;
      go.dispatch({ type: "open", scope: asked.scope });
      if (asked.node !== null)
        go.dispatch({ type: "select", selection: { nodes: [asked.node], edges: [], notes: [] } });
      go.setPanel(asked.panel);
      go.setExpanded(asked.expanded);
    } else if (!isSame(shown, ledger.place())) {
      // A nested flow that is opened is a page to come back from; a selected node is not.
      const isOther = shown.scope.join("/") !== ledger.place().scope.join("/");
      const next = searchOf(shown, search);
      ledger.write(next, shown);
      setSearch(new URLSearchParams(next), { replace: !isOther });
    }
  });
}

/** Tells an address that a link or the back button leads to from the ones that the editor wrote, which the router shows a little later. */
class Ledger {
  readonly #written = new Set<string>();
  #place: Place;
  #seen: string;
  constructor(address: string, place: Place) {
    this.#seen = address;
    this.#place = place;
  }
  /** The place that the address and the editor last agreed on. */
  place(): Place {
    return this.#place;
  }
  agree(place: Place): void {
    this.#place = place;
  }
  write(address: string, place: Place): void {
    this.#written.add(address);
    this.#place = place;
  }
  isNews(address: string): boolean {
    if (address === this.#seen) return false;
    this.#seen = address;
    return !this.#written.delete(address);
  }
}

/** The place in a document, without what it does not have. */
export function within(document: FlowDocument, place: Place): Place {
  const scope = graphAt(document, place.scope) === undefined ? [] : place.scope;
  const node = place.node !== null && nodeAt(document, scope, place.node) ? place.node : null;
  const isNested = (path: string): boolean => graphAt(document, path.split("/")) !== undefined;
  return { scope, node, panel: place.panel, expanded: new Set([...place.expanded].filter(isNested)) };
}
