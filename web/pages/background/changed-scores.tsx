import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { JSX } from "react";
import { Link } from "react-router";
import { comparisonOptions } from "../../api/experiments.ts";
import type { Experiment } from "../../api/experiments.ts";
import { toProblem } from "../../api/problem.ts";
import { links } from "../../links.ts";
import { shortId } from "../../parts/copy.tsx";
import { Failure, Loading } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import { Table } from "../../parts/table.tsx";
import { difference, figure } from "./figures.ts";

/** Scores listed at first, the worst changes before the others. */
const SHOWN = 10;

/** Which scores of the same rows differ most from the baseline, the worse ones first; each leads to both runs side by side. */
export function ChangedScores({
  experiment: { experiment_id, repetitions, finished_at },
  baselineId,
}: {
  readonly experiment: Experiment;
  readonly baselineId: string;
}): JSX.Element {
  const { data, error, isPending, refetch } = useQuery(
    comparisonOptions(experiment_id, baselineId, finished_at === null),
  );
  const [isWhole, setWhole] = useState(false);
  const names = new Map(data?.per_evaluator.map(({ evaluator_id, name }) => [evaluator_id, name]));
  const worse = data?.changed.filter(({ change }) => change === "regressed") ?? [];
  const all = [...worse, ...(data?.changed.filter(({ change }) => change !== "regressed") ?? [])];
  const shown = isWhole ? all : all.slice(0, SHOWN);
  return (
    <section className="stack-tight" aria-labelledby="changed">
      <h2 id="changed">What has changed since the baseline</h2>
      {isPending && <Loading what="what has changed" rows={4} />}
      {error && <Failure fault={toProblem(error)} retry={() => void refetch()} />}
      {data && all.length === 0 && (
        <p className="panel muted">
          {data.rows.both === 0
            ? "The baseline has none of its rows."
            : "No score of a row that both have run differs."}
        </p>
      )}
      {shown.length > 0 && (
        <Table
          caption="What has changed"
          rows={shown}
          keyOf={({ run_id, evaluator_id }) => `${run_id} ${evaluator_id}`}
          columns={[
            { id: "change", head: "Change", cell: ({ change }) => <Status state={change} /> },
            {
              id: "row",
              head: "Row",
              cell: ({ row_id, repetition, run_id, with_run_id }) => (
                <Link to={links.compare(with_run_id, run_id)} data-row title={row_id}>
                  <code>{shortId(row_id)}</code>
                  {repetitions > 1 && ` (${repetition})`}
                  <span className="visually-hidden">, both runs</span>
                </Link>
              ),
            },
            {
              id: "evaluator",
              head: "Evaluator",
              cell: ({ evaluator_id }) => <span className="wrap">{names.get(evaluator_id)}</span>,
            },
            { id: "was", head: "Was", number: true, wideOnly: true, cell: ({ with_number }) => figure(with_number) },
            { id: "is", head: "Is", number: true, wideOnly: true, cell: ({ number }) => figure(number) },
            {
              id: "by",
              head: "By",
              number: true,
              cell: ({ number, with_number }) => difference(number - with_number),
            },
          ]}
        />
      )}
      {shown.length < all.length && (
        <div className="row">
          <button type="button" className="button" onClick={() => setWhole(true)}>
            Show all {all.length}
          </button>
        </div>
      )}
    </section>
  );
}
