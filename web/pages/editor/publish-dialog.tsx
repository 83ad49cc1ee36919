import { useEffect, useState, type JSX } from "react";
import { Link } from "react-router";
import { announce } from "../../parts/announce.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Loading, Notice } from "../../parts/states.tsx";
import { PublishForm } from "../publish-form.tsx";
import { useEditor } from "./editor-context.ts";
import type { Autosave } from "./use-autosave.ts";

/** Makes the draft the next version. Not offered while the flow has an error, which it names. */
export function PublishDialog({
  autosave,
  onClose,
}: {
  readonly autosave: Autosave;
  readonly onClose: () => void;
}): JSX.Element {
  const { projectId, problems, check, saveNow, openPanel, goTo } = useEditor();
  const [published, setPublished] = useState<{ readonly version: number; readonly isUsed: boolean } | null>(null);
  const [isSaved, setSaved] = useState<boolean | null>(null);
  useEffect(() => {
    let isOver = false;
    void saveNow().then((done) => !isOver && setSaved(done));
    return () => {
      isOver = true;
    };
  }, [saveNow]);
  const errors = problems.filter(({ severity }) => severity === "error");
  const [error] = errors;
  if (published)
    return (
      <Dialog title={`Version ${published.version} is ${published.isUsed ? "published" : "stored"}`} onClose={onClose}>
        <p>
          {published.isUsed
            ? "New runs of this flow use it from now on."
            : "New runs keep the version that they use now. Publish this one on the page of the flow."}{" "}
          The next change begins a new draft.
        </p>
        <div className="row">
          <button type="button" className="button button-primary" data-first onClick={onClose}>
            Continue editing
          </button>
          <Link className="button" to={`/flows/${projectId}/call`}>
            Call it
          </Link>
        </div>
      </Dialog>
    );
  if (isSaved === null || !check.isCurrent)
    return (
      <Dialog title="Publish" onClose={onClose}>
        <Loading what="the last check of the flow" rows={2} />
      </Dialog>
    );
  if (error !== undefined)
    return (
      <Dialog title="Publish" onClose={onClose}>
        <Notice tone="bad">
          {errors.length === 1 ? "An error keeps" : `${errors.length} errors keep`} this flow from being published.
        </Notice>
        <p className="wrap">
          {error.node_path !== null && <code>{error.node_path}</code>} {error.message}
          {error.hint !== null && <span className="hint">{error.hint}</span>}
        </p>
        <div className="row">
          <button
            type="button"
            className="button button-primary"
            data-first
            onClick={() => {
              onClose();
              if (error.node_path !== null) goTo(error.node_path);
              openPanel("problems");
            }}
          >
            Show problems
          </button>
          <button type="button" className="button" onClick={onClose}>
            Close
          </button>
        </div>
      </Dialog>
    );
  if (autosave.head === null)
    return (
      <Dialog title="Publish" onClose={onClose}>
        <p>
          {isSaved
            ? "There is no draft: nothing has changed since the published version."
            : "The draft is not saved yet."}
        </p>
        <button type="button" className="button" data-first onClick={onClose}>
          Close
        </button>
      </Dialog>
    );
  return (
    <Dialog title="Publish" onClose={onClose}>
      <PublishForm
        projectId={projectId}
        etag={autosave.etag}
        onPublished={(version, isUsed) => {
          autosave.publishedAs(version);
          setPublished({ version, isUsed });
          announce(`Version ${version} is ${isUsed ? "published" : "stored"}`);
        }}
      >
        <p>The draft becomes the next version. Runs in progress keep the version that they started with.</p>
        {problems.length > 0 && (
          <Notice tone="warn">
            {problems.length === 1 ? "1 warning stands" : `${problems.length} warnings stand`}; they do not keep the
            flow from being published.
          </Notice>
        )}
      </PublishForm>
    </Dialog>
  );
}
