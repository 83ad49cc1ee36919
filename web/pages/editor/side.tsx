import { Suspense, lazy, useEffect, useRef, type JSX, type ReactNode } from "react";
import { Boundary } from "../../parts/boundary.tsx";
import { Icon } from "../../parts/icons.tsx";
import { Loading } from "../../parts/states.tsx";
import { useEditor, type Panel } from "./editor-context.ts";
import { useLatest } from "./latest.ts";

const NodePanel = lazy(async () => ({ default: (await import("./panel/node-panel.tsx")).NodePanel }));
const TryPanel = lazy(async () => ({ default: (await import("./try/try-panel.tsx")).TryPanel }));
const ProblemList = lazy(async () => ({ default: (await import("./problem-list.tsx")).ProblemList }));
const JsonView = lazy(async () => ({ default: (await import("./json-view.tsx")).JsonView }));
const SearchPanel = lazy(async () => ({ default: (await import("./search-panel.tsx")).SearchPanel }));
const HistoryPanel = lazy(async () => ({ default: (await import("./history-panel.tsx")).HistoryPanel }));
const SettingsPanel = lazy(async () => ({ default: (await import("./settings-panel.tsx")).SettingsPanel }));

const TITLES: Readonly<Record<Panel, string>> = {
  node: "Node",
  try: "Try it",
  problems: "Problems",
  json: "JSON",
  search: "Search and replace",
  history: "History of the draft",
  settings: "Flow settings",
};
const PARTS: Readonly<Record<Panel, () => ReactNode>> = {
  node: () => <NodePanel />,
  try: () => <TryPanel />,
  problems: () => <ProblemList />,
  json: () => <JsonView />,
  search: () => <SearchPanel />,
  history: () => <HistoryPanel />,
  settings: () => <SettingsPanel />,
};

/** The panel beside the canvas: the one that was opened, or the form of the selected node. */
export function Side(): JSX.Element | null {
  const { state, panel, openPanel, dispatch } = useEditor();
  const { nodes } = state.selection;
  const shown: Panel | null = panel ?? (nodes.length === 1 ? "node" : null);
  const panelRef = useRef<HTMLElement>(null);
  const close = (): void => {
    if (panel !== null) openPanel(null);
    else dispatch({ type: "select", selection: { nodes: [] } });
    // A node that gets the focus is selected, which would open the panel again.
    document.querySelector<HTMLElement>(".editor-canvas")?.focus({ preventScroll: true });
  };
  const latestClose = useLatest(close);
  useEffect(() => {
    const { current: element } = panelRef;
    const onKey = (event: KeyboardEvent): void => {
      // A dialog that a field of the panel opened closes alone.
      const isInDialog = event.target instanceof Element && event.target.closest("dialog") !== null;
      if (event.key === "Escape" && !event.defaultPrevented && !isInDialog) latestClose()();
    };
    element?.addEventListener("keydown", onKey);
    return () => element?.removeEventListener("keydown", onKey);
  }, [latestClose, shown]);
  if (shown === null) return null;
  return (
    <aside
      className={`editor-side ${shown === "json" ? "editor-side-wide" : ""}`}
      aria-label={TITLES[shown]}
      ref={panelRef}
    >
      <div className="editor-side-head">
        <h2>{TITLES[shown]}</h2>
        <button type="button" className="button button-quiet button-small" aria-label="Close panel" onClick={close}>
          <Icon name="cross" />
        </button>
      </div>
      <div className="editor-side-body">
        <Boundary what={TITLES[shown]} place={`${shown} ${nodes.join()}`}>
          <Suspense fallback={<Loading what="the panel" />}>{PARTS[shown]()}</Suspense>
        </Boundary>
      </div>
    </aside>
  );
}
