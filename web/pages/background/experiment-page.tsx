import { useQuery } from "@tanstack/react-query";
import type { JSX } from "react";
import { Link, useParams } from "react-router";
import {
  experimentOptions,
  experimentStatusOptions,
  type Experiment,
  type ExperimentStatus,
} from "../../api/experiments.ts";
import { links } from "../../links.ts";
import { Id, shortId } from "../../parts/copy.tsx";
import { Fact } from "../../parts/facts.tsx";
import { Fetched } from "../../parts/list/fetched.tsx";
import { PageHead } from "../../parts/page.tsx";
import { Loading, Notice } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import { Table } from "../../parts/table.tsx";
import { Elapsed, Time, duration } from "../../parts/time.tsx";
import { useProjectName } from "../project-names.ts";
import { ChangedScores } from "./changed-scores.tsx";
import { DetailFailure } from "./detail-failure.tsx";
import { ExperimentRows } from "./experiment-rows.tsx";
import { difference, figure, share } from "./figures.ts";

/** One experiment: scores, gates, regressions against the baseline, and every row with its run. */
export function ExperimentPage(): JSX.Element {
  const { experimentId = "" } = useParams();
  const { data, error, isPending, refetch } = useQuery(experimentOptions(experimentId));
  const status = useQuery(experimentStatusOptions(experimentId));
  if (isPending) return <Loading what="the experiment" />;
  if (data === undefined) return <DetailFailure what="experiment" error={error} retry={() => void refetch()} />;
  return (
    <>
      <PageHead title={data.name} about="Verdict, gates, scores against the baseline, and rows.">
        <Link to={links.background()}>Background work</Link>
      </PageHead>
      {data.error && (
        <Notice tone="bad">
          <span className="wrap">
            <strong>{data.error.code}</strong> {data.error.message}
          </span>
        </Notice>
      )}
      <Facts experiment={data} status={status.data} />
      <Fetched query={status} what="the scores" rows={4}>
        {(known) => (
          <>
            <Gates status={known} />
            <Scores status={known} />
          </>
        )}
      </Fetched>
      {data.baseline_experiment_id !== null && (
        <ChangedScores experiment={data} baselineId={data.baseline_experiment_id} />
      )}
      <ExperimentRows experiment={data} names={namesOf(status.data)} />
    </>
  );
}

const namesOf = (status: ExperimentStatus | undefined): ReadonlyMap<string, string> =>
  new Map(status?.per_evaluator.map(({ evaluator_id, name }) => [evaluator_id, name]));

function Facts({
  experiment,
  status,
}: {
  readonly experiment: Experiment;
  readonly status: ExperimentStatus | undefined;
}): JSX.Element {
  const nameOf = useProjectName();
  const { project_id, verdict, baseline_experiment_id: baseline } = experiment;
  const { counts } = status ?? {};
  return (
    <dl className="panel facts facts-line">
      <Fact term="State">
        <Status state={experiment.state} />
      </Fact>
      {verdict !== null && (
        <Fact term="Verdict">
          <Status state={verdict} />
        </Fact>
      )}
      <Fact term="Rows">{counts ? `${figure(counts.completed)} of ${figure(counts.rows)} completed` : "-"}</Fact>
      <Fact term="Failed">{counts ? figure(counts.failed) : "-"}</Fact>
      <Fact term="Project">
        <Link to={links.runs({ project_id, run_type: "batch" })}>{nameOf(project_id)}</Link>
      </Fact>
      <Fact term="Flow version">{experiment.flow_version}</Fact>
      <Fact term="Dataset version">{experiment.dataset_version}</Fact>
      <Fact term="Cost">
        {status && status.usage.total_tokens > 0 ? `${status.usage.cost_usd.toFixed(4)} USD` : "-"}
      </Fact>
      <Fact term="p95 latency">{duration(status?.latency_ms.p95)}</Fact>
      <Fact term="Created">
        <Time at={experiment.created_at} />
      </Fact>
      <Fact term="Duration">
        <Elapsed from={experiment.started_at} to={experiment.finished_at} />
      </Fact>
      <Fact term="Experiment ID">
        <Id id={experiment.experiment_id} label="experiment ID" />
      </Fact>
      {baseline !== null && (
        <Fact term="Baseline">
          <Baseline id={baseline} />
        </Fact>
      )}
    </dl>
  );
}

function Baseline({ id }: { readonly id: string }): JSX.Element {
  const { data } = useQuery(experimentOptions(id));
  return <Link to={links.experiment(id)}>{data?.name ?? shortId(id)}</Link>;
}

type Gate = ExperimentStatus["gates"][number];
type Score = ExperimentStatus["per_evaluator"][number];

const METRICS: Readonly<Record<Gate["metric"], string>> = {
  pass_rate: "Pass rate",
  mean: "Mean",
  p95_latency_ms: "p95 latency (ms)",
  cost_usd: "Cost (USD)",
  error_rate: "Error rate",
};
const SIGNS: Readonly<Record<Gate["op"], string>> = {
  gte: "at least",
  gt: "above",
  lte: "at most",
  lt: "below",
  eq: "exactly",
};

/** The gates of the experiment, and whether they pass. */
function Gates({ status: { gates, per_evaluator } }: { readonly status: ExperimentStatus }): JSX.Element | null {
  if (gates.length === 0) return null;
  const nameOf = (id: string): string | undefined =>
    per_evaluator.find(({ evaluator_id }) => evaluator_id === id)?.name;
  const inWords = ({ metric }: Gate) => (metric === "pass_rate" || metric === "error_rate" ? share : figure);
  return (
    <section className="stack-tight" aria-labelledby="gates">
      <h2 id="gates">Gates</h2>
      <Table
        caption="Gate results"
        rows={gates.map((gate, at) => ({ ...gate, key: String(at) }))}
        keyOf={({ key }) => key}
        columns={[
          {
            id: "met",
            head: "Result",
            cell: ({ passed }) => <Status state={passed === null ? "inconclusive" : passed ? "met" : "not met"} />,
          },
          {
            id: "what",
            head: "Gate",
            cell: (gate) => (
              <span className="wrap">
                {METRICS[gate.metric]}{" "}
                {gate.evaluator_id != null && (
                  <>
                    of <strong>{nameOf(gate.evaluator_id)}</strong>
                  </>
                )}{" "}
                {gate.vs === "baseline" && "vs. baseline "}
                {SIGNS[gate.op]} {inWords(gate)(gate.value)}
              </span>
            ),
          },
          {
            id: "observed",
            head: "Observed",
            number: true,
            cell: (gate) =>
              gate.vs === "baseline" ? difference(gate.observed, inWords(gate)) : inWords(gate)(gate.observed),
          },
          {
            id: "missing",
            head: "Unscored",
            number: true,
            wideOnly: true,
            cell: (gate) => figure(gate.unscored),
          },
        ]}
      />
    </section>
  );
}

function Scores({ status: { per_evaluator, counts } }: { readonly status: ExperimentStatus }): JSX.Element | null {
  // A draft has no rows yet.
  if (per_evaluator.length === 0 || counts.rows === 0) return null;
  const isCompared = per_evaluator.some(({ baseline }) => baseline !== null);
  return (
    <section className="stack-tight" aria-labelledby="scores">
      <h2 id="scores">Scores</h2>
      <Table
        caption="Scores by evaluator"
        rows={per_evaluator}
        keyOf={({ evaluator_id }) => evaluator_id}
        columns={[
          { id: "name", head: "Evaluator", cell: ({ name }) => <span className="wrap">{name}</span> },
          {
            id: "mean",
            head: "Mean",
            number: true,
            cell: ({ mean, ci95 }) => (
              <span
                title={ci95 ? `95 % confidence interval: ${ci95.map((each) => figure(each)).join(" to ")}` : undefined}
              >
                {figure(mean)}
              </span>
            ),
          },
          { id: "passed", head: "Pass rate", number: true, cell: ({ pass_rate }) => share(pass_rate) },
          {
            id: "missing",
            head: "Unscored",
            number: true,
            cell: ({ unscored }) =>
              unscored === 0 ? "0" : <strong className="field-error">{figure(unscored)}</strong>,
          },
          ...(isCompared
            ? [
                {
                  id: "diff",
                  head: "vs. baseline",
                  number: true,
                  wideOnly: true,
                  cell: ({ baseline }: Score) => (
                    <span
                      title={
                        baseline?.ci95
                          ? `95 % confidence interval: ${baseline.ci95.map((each) => difference(each)).join(" to ")}`
                          : undefined
                      }
                    >
                      {difference(baseline?.diff ?? null)}
                    </span>
                  ),
                },
                {
                  id: "better",
                  head: "Improved",
                  number: true,
                  wideOnly: true,
                  cell: ({ baseline }: Score) => figure(baseline?.improved ?? null),
                },
                {
                  id: "worse",
                  head: "Regressed",
                  number: true,
                  cell: ({ baseline }: Score) => figure(baseline?.regressed ?? null),
                },
              ]
            : []),
        ]}
      />
    </section>
  );
}
