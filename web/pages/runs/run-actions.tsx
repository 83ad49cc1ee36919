import { useState, type JSX } from "react";
import { Link } from "react-router";
import { useMay } from "../../api/accounts.ts";
import { cancelRun, isTerminal, useRunAction, type NodeRun, type Run } from "../../api/runs.ts";
import { links } from "../../links.ts";
import { CopyButton, CopyCurl } from "../../parts/copy.tsx";
import { curlOfCall } from "../../parts/curl.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { Field } from "../../parts/field.tsx";
import { Icon } from "../../parts/icons.tsx";
import { Failure } from "../../parts/states.tsx";
import { CompareDialog } from "./compare-dialog.tsx";
import { DatasetDialog } from "../dataset-dialog.tsx";
import { ForkDialog } from "./fork-dialog.tsx";
import { ReplayDialog } from "./replay-dialog.tsx";

type Action = "cancel" | "replay" | "resume" | "compare" | "dataset";

/** Actions that a run allows in its current state, for users who may take them. */
export function RunActions({ run, nodes }: { readonly run: Run; readonly nodes: readonly NodeRun[] }): JSX.Element {
  const may = useMay("editor", run.project_id);
  const mayEdit = useMay("editor");
  const [action, setAction] = useState<Action | null>(null);
  const close = (): void => setAction(null);
  const firstOf = nodes[0]?.node_id ?? null;
  return (
    <>
      <CopyButton text={location.href} label="link to this view">
        Copy link
      </CopyButton>
      <button type="button" className="button button-quiet button-small" onClick={() => setAction("compare")}>
        <Icon name="compare" /> Compare…
      </button>
      {mayEdit && isTerminal(run.state) && (
        <button type="button" className="button button-quiet button-small" onClick={() => setAction("dataset")}>
          <Icon name="plus" /> Add to dataset…
        </button>
      )}
      {may && isTerminal(run.state) && (
        <Link className="button button-quiet button-small" to={links.valuesInEditor(run.project_id, run.run_id)}>
          <Icon name="open" /> Open in editor with these values
        </Link>
      )}
      {may && isTerminal(run.state) && (
        <button type="button" className="button" onClick={() => setAction("resume")}>
          <Icon name="fork" /> Resume from…
        </button>
      )}
      {may && isTerminal(run.state) && (
        <button type="button" className="button" onClick={() => setAction("replay")}>
          <Icon name="retry" /> Rerun…
        </button>
      )}
      {may && !isTerminal(run.state) && (
        <button type="button" className="button button-danger" onClick={() => setAction("cancel")}>
          <Icon name="stop" /> Cancel…
        </button>
      )}
      {action === "cancel" && <CancelDialog run={run} onClose={close} />}
      {action === "compare" && <CompareDialog run={run} onClose={close} />}
      {action === "dataset" && <DatasetDialog run={run} onClose={close} />}
      {action === "replay" && <ReplayDialog run={run} onClose={close} />}
      {action === "resume" && (
        <ForkDialog run={run} nodes={nodes} from={run.state === "COMPLETED" ? firstOf : null} onClose={close} />
      )}
    </>
  );
}

interface DialogProps {
  readonly run: Run;
  readonly onClose: () => void;
}

function CancelDialog({ run, onClose }: DialogProps): JSX.Element {
  const cancel = useRunAction(cancelRun);
  const [reason, setReason] = useState("");
  const [isAtOnce, setAtOnce] = useState(false);
  const body = { mode: isAtOnce ? ("terminate" as const) : ("graceful" as const), ...(reason !== "" && { reason }) };
  return (
    <Dialog title="Cancel run" onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          cancel.mutate({ run_id: run.run_id, ...body }, { onSuccess: onClose });
        }}
      >
        <p>Running nodes are asked to stop and no further node starts. Completed work is not undone.</p>
        <Field label="Reason" hint="Saved with the run.">
          {(control) => (
            <input
              className="input"
              maxLength={500}
              data-first
              value={reason}
              onChange={(event) => setReason(event.target.value)}
              {...control}
            />
          )}
        </Field>
        <label className="check">
          <input type="checkbox" checked={isAtOnce} onChange={(event) => setAtOnce(event.target.checked)} /> Terminate
          now, without letting running nodes clean up
        </label>
        {cancel.error && <Failure fault={cancel.error} />}
        <div className="row">
          <button type="submit" className="button button-danger" disabled={cancel.isPending}>
            Cancel run
          </button>
          <button type="button" className="button" onClick={onClose}>
            Keep running
          </button>
          <CopyCurl command={curlOfCall("POST", `/v2/runs/${run.run_id}/cancel`, body)} />
        </div>
      </form>
    </Dialog>
  );
}
