import { useQuery } from "@tanstack/react-query";
import { useState, type JSX } from "react";
import { Link } from "react-router";
import { comparisonOptions, type Experiment } from "../../api/experiments.ts";
import { links } from "../../links.ts";
import { shortId } from "../../parts/copy.tsx";
import { Fetched } from "../../parts/list/fetched.tsx";
import { Status } from "../../parts/status.tsx";
import { Table } from "../../parts/table.tsx";
import { difference, figure } from "./figures.ts";

/** Scores listed at first, the largest drops first. */
const SHOWN = 10;

/** Scores that differ most from the baseline for the same rows, regressions first; each links to a comparison of both runs. */
export function ChangedScores({
  experiment: { experiment_id, repetitions, finished_at },
  baselineId,
}: {
  readonly experiment: Experiment;
  readonly baselineId: string;
}): JSX.Element {
  const comparison = useQuery(comparisonOptions(experiment_id, baselineId, finished_at === null));
  const { data } = comparison;
  const [isWhole, setWhole] = useState(false);
  const names = new Map(data?.per_evaluator.map(({ evaluator_id, name }) => [evaluator_id, name]));
  const worse = data?.changed.filter(({ change }) => change === "regressed") ?? [];
  const all = [...worse, ...(data?.changed.filter(({ change }) => change !== "regressed") ?? [])];
  const shown = isWhole ? all : all.slice(0, SHOWN);
  return (
    <section className="stack-tight" aria-labelledby="changed">
      <h2 id="changed">Changes from baseline</h2>
      <Fetched query={comparison} what="the changes" rows={4}>
        {({ rows }) =>
          all.length === 0 && (
            <p className="panel muted">
              {rows.both === 0
                ? "The baseline shares no rows with this experiment."
                : "No score differs from the baseline."}
            </p>
          )
        }
      </Fetched>
      {shown.length > 0 && (
        <Table
          caption="Changed scores"
          rows={shown}
          keyOf={({ run_id, evaluator_id }) => `${run_id} ${evaluator_id}`}
          columns={[
            { id: "change", head: "Result", cell: ({ change }) => <Status state={change} /> },
            {
              id: "row",
              head: "Row",
              cell: ({ row_id, repetition, run_id, with_run_id }) => (
                <Link to={links.compare(with_run_id, run_id)} data-row title={row_id}>
                  <code>{shortId(row_id)}</code>
                  {repetitions > 1 && ` (${repetition})`}
                  <span className="visually-hidden">: compare both runs</span>
                </Link>
              ),
            },
            {
              id: "evaluator",
              head: "Evaluator",
              cell: ({ evaluator_id }) => <span className="wrap">{names.get(evaluator_id)}</span>,
            },
            {
              id: "was",
              head: "Baseline",
              number: true,
              wideOnly: true,
              cell: ({ with_number }) => figure(with_number),
            },
            { id: "is", head: "Current", number: true, wideOnly: true, cell: ({ number }) => figure(number) },
            {
              id: "by",
              head: "Change",
              number: true,
              cell: ({ number, with_number }) => difference(number - with_number),
            },
          ]}
        />
      )}
      {shown.length < all.length && (
        <div className="row">
          <button type="button" className="button" onClick={() => setWhole(true)}>
            Show all {all.length} scores
          </button>
        </div>
      )}
    </section>
  );
}
