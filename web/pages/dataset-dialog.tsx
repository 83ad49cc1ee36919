import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState, type JSX } from "react";
import { useIntent } from "../api/intent.ts";
import { addDatasetRow, datasetsOptions } from "../api/datasets.ts";
import type { Run } from "../api/runs.ts";
import { Dialog } from "../parts/dialog.tsx";
import { Field } from "../parts/field.tsx";
import { Failure, Notice } from "../parts/states.tsx";
import { typedJson } from "../parts/typed-json.ts";
import { isCut } from "../parts/value.tsx";

const NEW = "new";

/** Adds a run to a dataset: its inputs, and its outputs as the expected ones, which the user can correct. */
export function DatasetDialog({ run, onClose }: { readonly run: Run; readonly onClose: () => void }): JSX.Element {
  const intent = useIntent();
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
  const outputs = readObject(expected);
  const cut = Object.keys(run.inputs).filter((id) => isCut(run.inputs[id]));
  if (add.isSuccess)
    return (
      <Dialog title="Row added" onClose={onClose}>
        <Notice tone="good">
          <span>
            This run is now a row of dataset <code>{add.data}</code>.
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
    <Dialog title="Add run to dataset" onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          if ("fault" in outputs) return;
          const { inputs, run_id, project_id } = run;
          const row = { inputs, expected_outputs: outputs.value, metadata: {}, tags: [], run_id };
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
              <option value={NEW}>New dataset</option>
            </select>
          )}
        </Field>
        {dataset === NEW && (
          <Field label="New dataset name">
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
          hint="Filled in with the run's outputs. Correct anything that was wrong."
          errors={"fault" in outputs ? [outputs.fault] : []}
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
        {cut.length > 0 && <Notice tone="warn">Too long for a dataset row: {cut.join(", ")}</Notice>}
        {add.error && <Failure fault={add.error} />}
        <div className="row">
          <button
            type="submit"
            className="button button-primary"
            disabled={add.isPending || "fault" in outputs || cut.length > 0}
          >
            Add row
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function readObject(text: string): { readonly value: Record<string, unknown> } | { readonly fault: string } {
  const typed = typedJson(text);
  if ("fault" in typed) return typed;
  const { value } = typed;
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? { value: value as Record<string, unknown> }
    : { fault: "Enter a JSON object." };
}
