import { useCallback, useEffect, useMemo, useRef, type JSX, type KeyboardEvent } from "react";
import type { NodeKind } from "../../../api/flows.ts";
import { pathOf } from "../../../flow/access.ts";
import type { FlowNode, Json, Path } from "../../../flow/document.ts";
import { setAt } from "../../../parts/schema-form/data.ts";
import type { Change } from "../../../parts/schema-form/form-context.ts";
import { SchemaForm } from "../../../parts/schema-form/schema-form.tsx";
import { Notice } from "../../../parts/states.tsx";
import { useEditor } from "../editor-context.ts";
import { calledInputs } from "./called-inputs.tsx";
import { ExpressionField } from "./expression-field.tsx";
import { JsonText } from "./json-text.tsx";
import { messagesOf } from "./messages.ts";
import { ModelField } from "./model-field.tsx";
import { nodeSchema } from "./node-schema.ts";
import { ReferenceField } from "./reference-field.tsx";

/** The form of a node's configuration, and below "Advanced" of what every node has. */
export function SettingsTab({ node, kind }: { readonly node: FlowNode; readonly kind: NodeKind }): JSX.Element {
  const { state, dispatch, problems, askedField, isReadOnly } = useEditor();
  const { scope, document } = state;
  const nodePath = pathOf([...scope, node.id]);
  const { id, config } = node;
  const found = useMemo(() => messagesOf(document, problems, nodePath), [document, problems, nodePath]);
  const change: Change = useCallback(
    (path, value) => {
      const command =
        path[0] === "config"
          ? ({ type: "setConfig", scope, id, path: path.slice(1), value: value as Json | undefined } as const)
          : ({ type: "setNode", scope, id, fields: fieldAt(node, path, value) } as const);
      dispatch({ type: "do", command, group: `${nodePath} ${JSON.stringify(path)}` });
    },
    [dispatch, scope, id, node, nodePath],
  );
  const asked = askedField?.nodePath === nodePath ? askedField : null;
  const form = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (asked !== null) showField(form.current, asked.path);
  }, [asked]);
  const special = useCallback(
    (path: Path) => (path.length === 2 && path[1] === "model" ? ModelField : calledInputs(config, path)),
    [config],
  );
  const common = {
    errors: found.errors,
    warnings: found.warnings,
    fillsDefaults: false,
    Code: ExpressionField,
    JsonText,
    Reference: ReferenceField,
    onChange: change,
    asked: asked?.path,
  } as const;
  const undo = (event: KeyboardEvent): void => {
    if (!(event.ctrlKey || event.metaKey) || event.altKey) return;
    const key = event.key.toLowerCase();
    const isRedo = key === "y" || (key === "z" && event.shiftKey);
    if (key !== "z" && !isRedo) return;
    // One history for everything: the browser's own would undo in the field what the flow still has.
    event.preventDefault();
    event.stopPropagation();
    dispatch({ type: isRedo ? "redo" : "undo" });
  };
  return (
    <div ref={form} role="presentation" className="stack" onKeyDown={undo}>
      {found.others.map(({ severity, text }, index) => (
        <Notice key={index} tone={severity === "error" ? "bad" : "warn"}>
          <span className="wrap">{text}</span>
        </Notice>
      ))}
      <fieldset className="node-form" disabled={isReadOnly}>
        <SchemaForm
          {...common}
          schema={kind.config}
          value={config}
          path={CONFIG}
          label={kind.title}
          special={special}
          more={<SchemaForm {...common} schema={nodeSchema(kind, node)} value={node} label="Node" />}
        />
      </fieldset>
    </div>
  );
}

const CONFIG = ["config"];

/** The fields of a node with another value at a path: what `setNode` takes. */
function fieldAt(node: FlowNode, path: Path, value: unknown): Record<string, Json | undefined> {
  const [name = "", ...rest] = path;
  const before = Object.hasOwn(node, name) ? node[String(name)] : undefined;
  return { [String(name)]: setAt(before, rest, value) as Json | undefined };
}

/** Shows and focuses the field at a path, or the nearest one around it. */
function showField(form: HTMLElement | null, path: Path): void {
  for (let length = path.length; length > 0; length--) {
    const key = CSS.escape(JSON.stringify(path.slice(0, length)));
    const part = form?.querySelector(`[data-path="${key}"]`);
    if (!part) continue;
    const control = part.querySelector<HTMLElement>(".cm-content, input, select, textarea, button");
    control?.scrollIntoView({ block: "center" });
    control?.focus();
    return;
  }
}
