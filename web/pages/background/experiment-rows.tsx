import { useInfiniteQuery } from "@tanstack/react-query";
import type { JSX } from "react";
import { Link } from "react-router";
import { ROW_STATES, experimentRowsOptions } from "../../api/experiments.ts";
import type { Experiment, ExperimentRow } from "../../api/experiments.ts";
import { toProblem } from "../../api/problem.ts";
import { links } from "../../links.ts";
import { shortId } from "../../parts/copy.tsx";
import { MoreButton } from "../../parts/more-button.tsx";
import { StateSelect } from "../../parts/state-select.tsx";
import { Empty, Failure, Loading } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import { Table } from "../../parts/table.tsx";
import { duration } from "../../parts/time.tsx";
import { useFilters } from "../filters.ts";
import { figure } from "./figures.ts";

/** The rows of an experiment in the order of the dataset: each leads to its run, and says what was scored, or why not. */
export function ExperimentRows({
  experiment,
  names,
}: {
  readonly experiment: Experiment;
  /** Of its evaluators, by their ids. */
  readonly names: ReadonlyMap<string, string>;
}): JSX.Element {
  const [search, put] = useFilters();
  const state = ROW_STATES.find((each) => each === search.get("rows"));
  const list = useInfiniteQuery(experimentRowsOptions(experiment.experiment_id, state));
  const { data, error, isPending, refetch } = list;
  const rows = data?.pages.flatMap((page) => page.data) ?? [];
  return (
    <section className="stack-tight" aria-labelledby="rows">
      <div className="spread">
        <h2 id="rows">Rows</h2>
        <StateSelect
          label="State of rows"
          states={ROW_STATES}
          value={state}
          onChange={(chosen) => put("rows", chosen)}
        />
      </div>
      {isPending && <Loading what="rows" rows={6} />}
      {error && <Failure fault={toProblem(error)} retry={() => void refetch()} />}
      {data && rows.length === 0 && (
        <div className="panel">
          <Empty title={state === undefined ? "No rows yet" : "No row is in this state"}>
            {state === undefined
              ? "POST .../jobs with the kind run has its rows run."
              : "Those of the other states are under All states."}
          </Empty>
        </div>
      )}
      {rows.length > 0 && (
        <Table
          caption="Rows of the experiment"
          rows={rows}
          keyOf={({ row_id, repetition }) => `${row_id} ${repetition}`}
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
            { id: "took", head: "Took", number: true, wideOnly: true, cell: (row) => duration(row.latency_ms) },
          ]}
        />
      )}
      {list.hasNextPage && (
        <div className="row">
          <MoreButton pages={list}>Later rows</MoreButton>
        </div>
      )}
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

/** What each evaluator says; of one that could not score, why. */
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
                {/* Of a row that has failed the reason stands beside it already. */}
                <strong>{error.code}</strong> {failure === null && error.message}
              </span>
            ) : (
              <strong className={score.passed === false ? "field-error" : undefined}>{shown(score)}</strong>
            )}
            {before !== undefined && shown(before) !== shown(score) && (
              <span className="muted"> (was {shown(before)})</span>
            )}
          </li>
        );
      })}
    </ul>
  );
}

type Score = ExperimentRow["scores"][number];

/** A value, and whether it passes, which a colour alone would not say. */
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
