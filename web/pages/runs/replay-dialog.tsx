import { useState } from "react";
import type { JSX } from "react";
import { useNavigate } from "react-router";
import { newIntent } from "../../api/client.ts";
import { toProblem } from "../../api/problem.ts";
import { replayRun, useRunAction } from "../../api/runs.ts";
import type { Run } from "../../api/runs.ts";
import { links } from "../../links.ts";
import { CopyCurl } from "../../parts/copy.tsx";
import { curlOfCall } from "../../parts/curl.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { Failure, Notice } from "../../parts/states.tsx";
import { VersionField } from "./fork-dialog.tsx";
import { InputsForm, isCut, useEditedInputs } from "./inputs-form.tsx";

/** Starts a run of its own with the same inputs or others. */
export function ReplayDialog({ run, onClose }: { readonly run: Run; readonly onClose: () => void }): JSX.Element {
  const [intent] = useState(newIntent);
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
    <Dialog title="Run again" onClose={onClose}>
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
            {cut.join(", ")}: too long to be shown whole here. Give it again, or use Go on from….
          </Notice>
        )}
        {replay.error && <Failure fault={toProblem(replay.error)} />}
        <div className="row">
          <button
            type="submit"
            className="button button-primary"
            disabled={replay.isPending || changed === null || cut.length > 0}
          >
            Run
          </button>
          <CopyCurl command={curlOfCall("POST", "/v2/runs", body)} />
        </div>
      </form>
    </Dialog>
  );
}
