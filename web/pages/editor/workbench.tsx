import { Suspense, lazy, useCallback, useEffect, useMemo, useReducer, useRef, useState, type JSX } from "react";
import { useSearchParams } from "react-router";
import { useMay } from "../../api/accounts.ts";
import { useScope, type NodeKind, type StoredFlow } from "../../api/flows.ts";
import { Boundary } from "../../parts/boundary.tsx";
import { Loading } from "../../parts/states.tsx";
import { nodeAt, pathOf } from "../../flow/access.ts";
import type { Action, EditorState, FlowDocument, Json, Path, Scope } from "../../flow/document.ts";
import { createState, reduce } from "../../flow/history.ts";
import { Canvas } from "./canvas/canvas.tsx";
import { splitPath } from "./canvas/graph-view.ts";
import { Bar } from "./bar.tsx";
import { EditorContext, type AskedField, type Editor, type Panel, type ShownValue } from "./editor-context.ts";
import { checkedText } from "./flow-text.ts";
import { Side } from "./side.tsx";
import { sessionOf } from "./try/session.ts";
import { placeIn, useAddress, within } from "./use-address.ts";
import { useAutosave } from "./use-autosave.ts";

const ConflictDialog = lazy(async () => ({ default: (await import("./conflict-dialog.tsx")).ConflictDialog }));

/** The editor of one flow. It holds the document; the server holds what was saved of it. */
export function Workbench({
  projectId,
  name,
  kinds,
  stored,
  initial,
}: {
  readonly projectId: string;
  readonly name: string;
  readonly kinds: readonly NodeKind[];
  readonly stored: StoredFlow | null;
  readonly initial: FlowDocument;
}): JSX.Element {
  const [search] = useSearchParams();
  const [first] = useState(() => within(initial, placeIn(search)));
  const [state, dispatch] = useReducer(reduce, null, () => stateAt(initial, kinds, first));
  const [panel, setPanel] = useState<Panel | null>(first.panel);
  const [expanded, setExpanded] = useState<ReadonlySet<string>>(first.expanded);
  const [values, setValues] = useState<ReadonlyMap<string, ShownValue>>(new Map());
  const [pins, setPins] = useState<ReadonlyMap<string, Json>>(new Map());
  useEffect(() => () => sessionOf(setValues).close(), []);
  const [askedField, setAskedField] = useState<AskedField | null>(null);
  const [isLocked, setLocked] = useState(false);
  const mayEdit = useMay("editor", projectId);
  const isReadOnly = !mayEdit || isLocked;

  const { document } = state;
  const autosave = useAutosave(projectId, document, stored, !mayEdit);
  const { saveNow } = autosave;
  const { nodes, edges, settings, examples, description, name: title } = document;
  // A moved node is no reason for another check.
  const text = useMemo(
    () => checkedText(document),
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- all fields but `ui`
    [nodes, edges, settings, examples, description, title],
  );
  const check = useScope(projectId, text);

  const act = useCallback((action: Action): void => {
    dispatch(action.type === "do" ? { at: Date.now(), ...action } : action);
  }, []);
  useAddress(
    state,
    { panel, expanded },
    useMemo(() => ({ dispatch: act, setPanel, setExpanded }), [act]),
  );

  const byType = useMemo(() => new Map<string, NodeKind>(kinds.map((kind) => [kind.type, kind])), [kinds]);
  const kindOf = useCallback((type: string) => byType.get(type), [byType]);
  const latest = useRef(state);
  useEffect(() => {
    latest.current = state;
  }, [state]);
  const goTo = useCallback(
    (nodePath: string, path?: Path): void => {
      const { scope, id } = splitPath(nodePath);
      if (!nodeAt(latest.current.document, scope, id)) return;
      if (pathOf(scope) !== pathOf(latest.current.scope)) act({ type: "open", scope });
      act({ type: "select", selection: { nodes: [id], edges: [], notes: [] } });
      setAskedField(path === undefined ? null : { nodePath, path, at: Date.now() });
      // The form of the node takes the place of the list that led there.
      if (path !== undefined) setPanel(null);
    },
    [act],
  );
  const editor: Editor = useMemo(
    () => ({
      projectId,
      state,
      dispatch: act,
      kinds,
      kindOf,
      scope: check.scope,
      problems: check.problems,
      check,
      values,
      setValues,
      pins,
      setPins,
      isReadOnly,
      panel,
      openPanel: setPanel,
      goTo,
      askedField,
      saveNow,
    }),
    [projectId, state, act, kinds, kindOf, check, values, pins, isReadOnly, panel, goTo, askedField, saveNow],
  );
  const view = viewIn(state.scope, expanded);
  return (
    <EditorContext value={editor}>
      <div className="editor">
        <Bar name={name} autosave={autosave} view={view} mayEdit={mayEdit} />
        <div className="editor-main">
          <Boundary what="canvas" place={pathOf(view)}>
            <Canvas
              key={pathOf(view)}
              view={view}
              expanded={expanded}
              setExpanded={setExpanded}
              isLocked={isLocked}
              setLocked={setLocked}
              mayEdit={mayEdit}
            />
          </Boundary>
          <Side />
        </div>
        {autosave.conflict && (
          <Suspense fallback={<Loading what="the difference" rows={2} />}>
            <ConflictDialog conflict={autosave.conflict} settle={autosave.settle} />
          </Suspense>
        )}
      </div>
    </EditorContext>
  );
}

function stateAt(
  document: FlowDocument,
  kinds: readonly NodeKind[],
  { scope, node }: ReturnType<typeof within>,
): EditorState {
  const state = createState(document, kinds);
  return { ...state, scope, selection: { nodes: node === null ? [] : [node], edges: [], notes: [] } };
}

/** The flow that fills the canvas: a flow that is shown in place is part of the one around it. */
function viewIn(scope: Scope, expanded: ReadonlySet<string>): Scope {
  let view = scope;
  while (view.length > 0 && expanded.has(pathOf(view))) view = view.slice(0, -1);
  return view;
}
