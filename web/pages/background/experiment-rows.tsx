import { useInfiniteQuery } from "@tanstack/react-query";
import type { JSX } from "react";
import { Link } from "react-router";
import { useMay } from "../../api/accounts.ts";
import {
  ROW_STATES,
  experimentRowsOptions,
  useExperimentStart,
  type Experiment,
  type ExperimentRow,
} from "../../api/experiments.ts";
import { links } from "../../links.ts";
import { shortId } from "../../parts/copy.tsx";
import { List } from "../../parts/list/list.tsx";
import { StateSelect } from "../../parts/state-select.tsx";
import { Failure } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import { duration } from "../../parts/time.tsx";
import { useFilters } from "../filters.ts";
import { figure } from "./figures.ts";

/** Rows of an experiment in the order of the dataset; each links to its run and shows its scores, or why it has none. */
export function ExperimentRows({
  experiment,
  names,
}: {
  readonly experiment: Experiment;
  /** Names of the experiment's evaluators, by ID. */
  readonly names: ReadonlyMap<string, string>;
}): JSX.Element {
  const [search, put] = useFilters();
  const state = ROW_STATES.find((each) => each === search.get("rows"));
  const list = useInfiniteQuery(experimentRowsOptions(experiment.experiment_id, state));
  const start = useExperimentStart();
  const mayStart = useMay("editor");
  return (
    <section className="stack-tight" aria-labelledby="rows">
      <div className="spread">
        <h2 id="rows">Rows</h2>
        <StateSelect label="Row state" states={ROW_STATES} value={state} onChange={(chosen) => put("rows", chosen)} />
      </div>
      {start.error && <Failure fault={start.error} />}
      <List
        query={list}
        items="rows"
        caption="Experiment rows"
        more="Load more rows"
        keyOf={({ row_id, repetition }) => `${row_id} ${repetition}`}
        empty={{
          title: "Not started",
          text: "Start the experiment to run its rows.",
          action: mayStart && (
            <button
              type="button"
              className="button button-primary"
              disabled={start.isPending}
              onClick={() => start.mutate(experiment.experiment_id)}
            >
              Start
            </button>
          ),
        }}
        onClear={state === undefined ? undefined : () => put("rows", null)}
        columns={[
          { id: "state", head: "State", cell: (row) => <Status state={row.state} /> },
          {
            id: "row",
            head: "Row",
            cell: (row) => (
              <span className="wrap">
                <RowName row={row} isRepeated={experiment.repetitions > 1} />
              </span>
            ),
          },
          {
            id: "scores",
            head: "Scores",
            cell: (row) => (
              <>
                <Why row={row} />
                <Scores row={row} names={names} />
              </>
            ),
          },
          { id: "took", head: "Duration", number: true, wideOnly: true, cell: (row) => duration(row.latency_ms) },
        ]}
      />
    </section>
  );
}

function RowName({ row, isRepeated }: { readonly row: ExperimentRow; readonly isRepeated: boolean }): JSX.Element {
  const name = (
    <>
      {row.external_id ?? <code>{shortId(row.row_id)}</code>}
      {isRepeated && ` (${row.repetition})`}
    </>
  );
  if (row.run_id === null) return <span title={row.row_id}>{name}</span>;
  return (
    <Link to={links.run(row.run_id)} data-row title={row.row_id}>
      {name}
    </Link>
  );
}

function Why({ row: { error } }: { readonly row: ExperimentRow }): JSX.Element | null {
  if (error === null) return null;
  return (
    <p className="small wrap">
      <strong>{error.code}</strong> {error.message}
    </p>
  );
}

/** The score of each evaluator, or the reason why it could not score. */
function Scores({
  row: { scores, baseline, error: failure },
  names,
}: {
  readonly row: ExperimentRow;
  readonly names: ReadonlyMap<string, string>;
}): JSX.Element {
  if (scores.length === 0) return <>{failure === null && "-"}</>;
  return (
    <ul className="stack-tight">
      {scores.map((score) => {
        const { evaluator_id, reasoning, error } = score;
        const before = baseline?.scores.find((each) => each.evaluator_id === evaluator_id);
        return (
          <li key={evaluator_id} className="wrap small" title={reasoning ?? undefined}>
            {names.get(evaluator_id) ?? shortId(evaluator_id)}:{" "}
            {error ? (
              <span className="field-error">
                {/* For a failed row, the reason is already shown beside it. */}
                <strong>{error.code}</strong> {failure === null && error.message}
              </span>
            ) : (
              <strong className={score.passed === false ? "field-error" : undefined}>{shown(score)}</strong>
            )}
            {before !== undefined && shown(before) !== shown(score) && (
              <span className="muted"> (baseline: {shown(before)})</span>
            )}
          </li>
        );
      })}
    </ul>
  );
}

type Score = ExperimentRow["scores"][number];

/** The score with "passed" or "failed" in words, because colour alone is not accessible. */
function shown(score: Score): string {
  const { passed, error } = score;
  if (error) return error.code;
  return passed === null ? valueOf(score) : `${valueOf(score)}, ${passed ? "passed" : "failed"}`;
}

function valueOf({ value, label }: Score): string {
  if (typeof value === "number") return figure(value);
  if (typeof value === "boolean") return value ? "yes" : "no";
  return value ?? label ?? "-";
}
