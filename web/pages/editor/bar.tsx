import { Suspense, lazy, useState, type JSX } from "react";
import { Link } from "react-router";
import { nodeAt, pathOf } from "../../flow/access.ts";
import type { Scope } from "../../flow/document.ts";
import { FlowIcon } from "../../parts/flow-icons.tsx";
import { Icon } from "../../parts/icons.tsx";
import { Menu } from "../../parts/menu.tsx";
import { PageHead } from "../../parts/page.tsx";
import { Time } from "../../parts/time.tsx";
import { titleOf } from "./canvas/step-text.ts";
import { useEditor, type Panel } from "./editor-context.ts";
import type { Autosave } from "./use-autosave.ts";

const PublishDialog = lazy(async () => ({ default: (await import("./publish-dialog.tsx")).PublishDialog }));

/** What is edited, whether it is saved, and what can be done with it. */
export function Bar({
  name,
  autosave,
  view,
  mayEdit,
}: {
  readonly name: string;
  readonly autosave: Autosave;
  readonly view: Scope;
  readonly mayEdit: boolean;
}): JSX.Element {
  const { projectId, problems, check, panel, openPanel } = useEditor();
  const [isPublishing, setPublishing] = useState(false);
  const errors = problems.filter(({ severity }) => severity === "error").length;
  const warnings = problems.length - errors;
  const toggle = (each: Panel): void => openPanel(panel === each ? null : each);
  return (
    <div className="editor-bar">
      <PageHead title={`${name} · Editor`}>
        <Where name={name} view={view} />
        <Saved autosave={autosave} mayEdit={mayEdit} />
        <span className="editor-bar-actions">
          <button
            type="button"
            className={`button button-small ${errors > 0 ? "editor-errors" : warnings > 0 ? "editor-warnings" : ""}`}
            aria-pressed={panel === "problems"}
            onClick={() => toggle("problems")}
          >
            <Icon name={errors + warnings > 0 ? "warning" : check.scope === null ? "clock" : "check"} />
            {problemCount(errors, warnings)}
          </button>
          <Menu name="More" closes>
            {(
              [
                ["json", "JSON"],
                ["search", "Search and replace"],
                ["history", "History"],
                ["settings", "Flow settings"],
              ] as const
            ).map(([each, label]) => (
              <button key={each} type="button" className="button button-quiet" onClick={() => openPanel(each)}>
                {label}
              </button>
            ))}
            <Link className="button button-quiet" to={`/flows/${projectId}`}>
              Versions
            </Link>
          </Menu>
          <button
            type="button"
            className="button button-small"
            aria-pressed={panel === "try"}
            onClick={() => toggle("try")}
          >
            <Icon name="runs" />
            Try
          </button>
          {mayEdit && (
            <button type="button" className="button button-primary button-small" onClick={() => setPublishing(true)}>
              Publish
            </button>
          )}
        </span>
      </PageHead>
      {isPublishing && (
        <Suspense>
          <PublishDialog autosave={autosave} onClose={() => setPublishing(false)} />
        </Suspense>
      )}
    </div>
  );
}

function problemCount(errors: number, warnings: number): string {
  const parts = [
    errors > 0 ? `${errors} ${errors === 1 ? "error" : "errors"}` : "",
    warnings > 0 ? `${warnings} ${warnings === 1 ? "warning" : "warnings"}` : "",
  ].filter((part) => part !== "");
  return parts.length === 0 ? "No problems" : parts.join(", ");
}

/** The flow that is open, if it is within a map or loop, and the way back. */
function Where({ name, view }: { readonly name: string; readonly view: Scope }): JSX.Element | null {
  const { state, dispatch, kindOf } = useEditor();
  if (view.length === 0) return null;
  return (
    <nav className="editor-where" aria-label="Breadcrumb">
      <button
        type="button"
        className="button button-quiet button-small"
        onClick={() => dispatch({ type: "open", scope: [] })}
      >
        {name}
      </button>
      {view.map((id, index) => {
        const node = nodeAt(state.document, view.slice(0, index), id);
        const title = node === undefined ? id : titleOf(node, kindOf(node.type));
        const isLast = index === view.length - 1;
        return (
          <span key={pathOf(view.slice(0, index), id)} className="row">
            <Icon name="chevron" />
            {isLast ? (
              <strong aria-current="location">{title}</strong>
            ) : (
              <button
                type="button"
                className="button button-quiet button-small"
                onClick={() => dispatch({ type: "open", scope: view.slice(0, index + 1) })}
              >
                {title}
              </button>
            )}
          </span>
        );
      })}
    </nav>
  );
}

const SAVE_WORDS = {
  saved: "Saved",
  unsaved: "Not saved yet",
  saving: "Saving…",
  failed: "Not saved",
  conflict: "Changed by someone else",
} as const;

function Saved({ autosave, mayEdit }: { readonly autosave: Autosave; readonly mayEdit: boolean }): JSX.Element {
  const { state, head, failure, version } = autosave;
  if (!mayEdit) return <span className="editor-saved muted small">Read-only: your role cannot edit this flow.</span>;
  const isDraft = head !== null;
  return (
    <span className={`editor-saved small ${state === "failed" || state === "conflict" ? "editor-unsaved" : "muted"}`}>
      <span role="status">
        {state === "saved" && !isDraft
          ? version === null
            ? "New flow"
            : `Version ${version}, no draft`
          : SAVE_WORDS[state]}
      </span>
      {state === "saved" && isDraft && <Time at={head.changed_at} />}
      {state === "failed" && (
        <button
          type="button"
          className="button button-small"
          title={failure?.message}
          onClick={() => void autosave.saveNow()}
        >
          <FlowIcon name="history" /> Try again
        </button>
      )}
    </span>
  );
}
