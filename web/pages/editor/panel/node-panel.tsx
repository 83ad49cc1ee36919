import { useEffect, useMemo, useRef, useState, type JSX } from "react";
import { Link, useSearchParams } from "react-router";
import { nodeAt, pathOf } from "../../../flow/access.ts";
import type { FlowNode } from "../../../flow/document.ts";
import type { InsertedValue } from "../../../parts/code/completion.ts";
import { announce } from "../../../parts/announce.tsx";
import { Field } from "../../../parts/field.tsx";
import { Tabs } from "../../../parts/tabs.tsx";
import { useEditor } from "../editor-context.ts";
import { IdField } from "./id-field.tsx";
import { NodeFormContext, useNodeForm } from "./panel-context.ts";
import { usePreviewValues } from "./preview-values.ts";
import { valuesSeen, type ValueNode } from "./scope-values.ts";
import { SettingsTab } from "./settings-tab.tsx";
import { ValueTab } from "./value-tab.tsx";
import { ValueTree } from "./value-picker.tsx";
import "./node-panel.css";

/** The selected node: its name, settings and value. */
export function NodePanel(): JSX.Element {
  const { state } = useEditor();
  const [id] = state.selection.nodes;
  const node = id === undefined ? undefined : nodeAt(state.document, state.scope, id);
  if (node === undefined) return <p className="muted small">Select a node to configure it.</p>;
  return <Panel key={pathOf([...state.scope, node.id])} node={node} />;
}

const NAMES = { settings: "Settings", value: "Value" } as const;
type Tab = keyof typeof NAMES;
const TABS: readonly Tab[] = ["settings", "value"];

/** The parameters of the address with a tab. */
function searchOf(others: URLSearchParams, tab: Tab): string {
  const search = new URLSearchParams(others);
  if (tab === "settings") search.delete("tab");
  else search.set("tab", tab);
  return search.toString();
}

function Panel({ node }: { readonly node: FlowNode }): JSX.Element {
  const { state, scope, kindOf, isReadOnly, dispatch, askedField } = useEditor();
  const [search, setSearch] = useSearchParams();
  const tab: Tab = search.get("tab") === "value" ? "value" : "settings";
  const nodePath = pathOf([...state.scope, node.id]);
  const askedAt = askedField?.nodePath === nodePath ? askedField.at : null;
  const seenAt = useRef(askedAt);
  useEffect(() => {
    if (askedAt === seenAt.current) return;
    seenAt.current = askedAt;
    // The field that a problem leads to is among the settings.
    if (askedAt !== null) setSearch((now) => new URLSearchParams(searchOf(now, "settings")), { replace: true });
  }, [askedAt, setSearch]);
  const kind = kindOf(node.type);
  const preview = usePreviewValues(nodePath);
  const { lastOf } = preview;
  const { nodes } = state.document;
  const seen = useMemo(
    () => valuesSeen(scope, nodePath, lastOf, (value) => nameOfValue(value, nodes)),
    [scope, nodePath, lastOf, nodes],
  );
  const target = useRef<((insert: InsertedValue) => void) | null>(null);
  const insert = (value: ValueNode): void => {
    if (target.current === null) return announce("Put the cursor into an expression first.");
    target.current(value);
  };
  const form = useMemo(
    () => ({
      nodePath,
      config: node.config,
      isReadOnly,
      seen,
      preview,
      setTarget: (next: (value: InsertedValue) => void) => {
        target.current = next;
      },
    }),
    [nodePath, node.config, isReadOnly, seen, preview],
  );
  const set = (fields: Readonly<Record<string, string | undefined>>): void => {
    const command = { type: "setNode", scope: state.scope, id: node.id, fields } as const;
    dispatch({ type: "do", command, group: `${nodePath} ${Object.keys(fields).join()}` });
  };
  return (
    <NodeFormContext value={form}>
      <div className="stack node-panel">
        <div className="stack-tight">
          <p className="small muted">
            {kind === undefined ? `Unknown type ${node.type}` : `${kind.title} · ${kind.help}`} · <code>{node.id}</code>
          </p>
          <Field label="Name">
            {(control) => (
              <input
                className="input"
                autoComplete="off"
                placeholder={node.id}
                readOnly={isReadOnly}
                value={node.name ?? ""}
                onChange={(event) => set({ name: event.target.value === "" ? undefined : event.target.value })}
                {...control}
              />
            )}
          </Field>
          <IdField node={node} />
          <Note node={node} isReadOnly={isReadOnly} onChange={(notes) => set({ notes })} />
        </div>
        <Tabs
          label="Parts of the node"
          tabs={TABS}
          chosen={tab}
          link={(each, current) => (
            <Link to={{ search: searchOf(search, each) }} replace aria-current={current}>
              {NAMES[each]}
            </Link>
          )}
        />
        <div className="stack">
          {kind === undefined ? (
            <p className="muted">This installation does not know the type, so it has no form. Edit the node as JSON.</p>
          ) : tab === "value" ? (
            <ValueTab node={node} kind={kind} />
          ) : (
            <>
              <SettingsTab node={node} kind={kind} />
              <Values seen={seen} onInsert={insert} />
            </>
          )}
        </div>
      </div>
    </NodeFormContext>
  );
}

function nameOfValue(
  { kind, node_path, key }: { readonly kind: string; readonly node_path: string | null; readonly key: string },
  nodes: readonly FlowNode[],
): string {
  if (kind !== "node") return kind;
  const id = node_path?.slice(node_path.lastIndexOf("/") + 1) ?? key;
  const name = node_path === id ? nodes.find((each) => each.id === id)?.name : undefined;
  return name === undefined || name === "" ? id : `${name} (${id})`;
}

function Note({
  node: { notes },
  isReadOnly,
  onChange,
}: {
  readonly node: FlowNode;
  readonly isReadOnly: boolean;
  readonly onChange: (notes: string | undefined) => void;
}): JSX.Element {
  const [isOpen, setOpen] = useState(notes !== undefined && notes !== "");
  if (!isOpen)
    return (
      <div className="row">
        <button
          type="button"
          className="button button-quiet button-small"
          disabled={isReadOnly}
          onClick={() => setOpen(true)}
        >
          Add note
        </button>
      </div>
    );
  return (
    <Field label="Note">
      {(control) => (
        <textarea
          className="input"
          rows={2}
          readOnly={isReadOnly}
          value={notes ?? ""}
          onChange={(event) => onChange(event.target.value === "" ? undefined : event.target.value)}
          {...control}
        />
      )}
    </Field>
  );
}

/** What the node's expressions can read, with the values of the last try or of a run. */
function Values({
  seen,
  onInsert,
}: {
  readonly seen: readonly ValueNode[];
  readonly onInsert: (value: ValueNode) => void;
}): JSX.Element {
  const { preview } = useNodeForm();
  return (
    <details className="form-folded values-panel" open>
      <summary>Values</summary>
      <div className="stack-tight">
        <p className="small muted">Drag a value into a field, or press Enter on it to insert it at the cursor.</p>
        <Field label="Values of">
          {(control) => (
            <select
              className="input"
              value={preview.runId}
              onChange={(event) => preview.choose(event.target.value)}
              {...control}
            >
              <option value="">Last try and pinned values</option>
              {preview.runs.map(({ run_id, created_at, state }) => (
                <option key={run_id} value={run_id}>
                  {new Date(created_at).toLocaleString()} · {state.toLowerCase()} · {run_id.slice(-8)}
                </option>
              ))}
            </select>
          )}
        </Field>
        {seen.length === 0 ? (
          <p className="small muted">No values in scope. Connect a node before this one.</p>
        ) : (
          <ValueTree values={seen} label="Values in scope" onInsert={onInsert} />
        )}
      </div>
    </details>
  );
}
