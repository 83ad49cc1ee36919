import { useState, type JSX } from "react";
import { useNavigate } from "react-router";
import { useIntent } from "../../api/intent.ts";
import { replayRun, useRunAction, type Run } from "../../api/runs.ts";
import { links } from "../../links.ts";
import { CopyCurl } from "../../parts/copy.tsx";
import { curlOfCall } from "../../parts/curl.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { Failure, Notice } from "../../parts/states.tsx";
import { isCut } from "../../parts/value.tsx";
import { VersionField } from "./fork-dialog.tsx";
import { InputsForm, useEditedInputs } from "./inputs-form.tsx";

/** Starts a new run with the same or changed inputs. */
export function ReplayDialog({ run, onClose }: { readonly run: Run; readonly onClose: () => void }): JSX.Element {
  const intent = useIntent();
  const replay = useRunAction(replayRun);
  const navigate = useNavigate();
  const [version, setVersion] = useState(run.flow_version);
  const inputs = useEditedInputs(run, version);
  const { changed } = inputs;
  const cut = Object.keys(run.inputs).filter((id) => isCut(run.inputs[id]) && !Object.hasOwn(changed ?? {}, id));
  const { project_id, user_id, metadata, tags } = run;
  const given = { ...run.inputs, ...changed };
  const body = { project_id, version, inputs: given, user_id, metadata, tags, mode: "async" as const };
  return (
    <Dialog title="Rerun" onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          if (changed === null) return;
          replay.mutate(
            { ...body, intent },
            {
              onSuccess(made) {
                onClose();
                void navigate(links.run(made.run_id));
              },
            },
          );
        }}
      >
        <VersionField run={run} value={version} onChange={setVersion} />
        <InputsForm inputs={inputs} />
        {cut.length > 0 && (
          <Notice tone="warn">
            Too long to load here: {cut.join(", ")}. Enter the value again, or close this dialog and use Resume from….
          </Notice>
        )}
        {replay.error && <Failure fault={replay.error} />}
        <div className="row">
          <button
            type="submit"
            className="button button-primary"
            disabled={replay.isPending || changed === null || cut.length > 0}
          >
            Rerun
          </button>
          <CopyCurl command={curlOfCall("POST", "/v2/runs", body)} />
        </div>
      </form>
    </Dialog>
  );
}
