import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { JSX } from "react";
import { newIntent } from "../../api/client.ts";
import { addDatasetRow, datasetsOptions } from "../../api/datasets.ts";
import { toProblem } from "../../api/problem.ts";
import type { Run } from "../../api/runs.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { Field } from "../../parts/field.tsx";
import { Failure, Notice } from "../../parts/states.tsx";
import { isCut } from "./inputs-form.tsx";

const NEW = "new";

/** Makes a row of a dataset from a run: its inputs, and its outputs as the expected ones, which the user can correct. */
export function DatasetDialog({ run, onClose }: { readonly run: Run; readonly onClose: () => void }): JSX.Element {
  const [intent] = useState(newIntent);
  const client = useQueryClient();
  const { data: datasets } = useQuery(datasetsOptions);
  const add = useMutation({
    mutationFn: addDatasetRow,
    onSuccess: () => client.invalidateQueries({ queryKey: ["datasets"] }),
  });
  const fitting = datasets?.data.filter(({ project_id }) => project_id === null || project_id === run.project_id) ?? [];
  const [chosen, setChosen] = useState<string | null>(null);
  const dataset = chosen ?? fitting[0]?.dataset_id ?? NEW;
  const [name, setName] = useState("");
  const [expected, setExpected] = useState(() => JSON.stringify(run.outputs ?? {}, null, 2));
  const outputs = parseObject(expected);
  const cut = Object.keys(run.inputs).filter((id) => isCut(run.inputs[id]));
  if (add.isSuccess)
    return (
      <Dialog title="Row added" onClose={onClose}>
        <Notice tone="good">
          <span>
            The run is a row of the dataset <code>{add.data}</code>.
          </span>
        </Notice>
        <div className="row">
          <button type="button" className="button" onClick={onClose}>
            Close
          </button>
        </div>
      </Dialog>
    );
  return (
    <Dialog title="Make a dataset row of the run" onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          if (outputs === null) return;
          const { inputs, run_id, project_id } = run;
          const row = { inputs, expected_outputs: outputs, metadata: { run_id }, tags: [] };
          add.mutate({ dataset_id: dataset === NEW ? null : dataset, name, project_id, row, intent });
        }}
      >
        <Field label="Dataset">
          {(control) => (
            <select className="input" value={dataset} onChange={(event) => setChosen(event.target.value)} {...control}>
              {fitting.map(({ dataset_id, name: known, row_count }) => (
                <option key={dataset_id} value={dataset_id}>
                  {known} (rows: {row_count.toLocaleString()})
                </option>
              ))}
              <option value={NEW}>A new one</option>
            </select>
          )}
        </Field>
        {dataset === NEW && (
          <Field label="Name of the new dataset">
            {(control) => (
              <input
                className="input"
                required
                maxLength={200}
                value={name}
                onChange={(event) => setName(event.target.value)}
                {...control}
              />
            )}
          </Field>
        )}
        <Field
          label="Expected outputs"
          hint="What the run gave. Correct it where that was wrong."
          errors={outputs === null ? ["This is no JSON object."] : []}
        >
          {(control) => (
            <textarea
              className="input mono"
              rows={8}
              spellCheck={false}
              value={expected}
              onChange={(event) => setExpected(event.target.value)}
              {...control}
            />
          )}
        </Field>
        {cut.length > 0 && <Notice tone="warn">{cut.join(", ")}: too long for a row.</Notice>}
        {add.error && <Failure fault={toProblem(add.error)} />}
        <div className="row">
          <button
            type="submit"
            className="button button-primary"
            disabled={add.isPending || outputs === null || cut.length > 0}
          >
            Add the row
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function parseObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}
