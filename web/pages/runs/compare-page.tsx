import { useQuery } from "@tanstack/react-query";
import type { JSX } from "react";
import { Link, useParams } from "react-router";
import { ApiProblem } from "../../api/problem.ts";
import { comparedRunOptions, type RunWithNodes } from "../../api/runs.ts";
import { links } from "../../links.ts";
import { shortId } from "../../parts/copy.tsx";
import { Diff } from "../../parts/diff/diff.tsx";
import { PageHead } from "../../parts/page.tsx";
import { Empty, Failure, Loading, Notice } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import { Elapsed } from "../../parts/time.tsx";
import { ComparedNodes } from "./compared-nodes.tsx";
import { dollars } from "./node-facts.tsx";
import "./run.css";

/** Two runs side by side: inputs, outputs, and each node of both. The URL holds both IDs. */
export function ComparePage(): JSX.Element {
  const { runId = "", otherId = "" } = useParams();
  const one = useQuery(comparedRunOptions(runId));
  const other = useQuery(comparedRunOptions(otherId));
  if (one.data && other.data) return <Compared one={one.data} other={other.data} />;
  const error = one.error ?? other.error;
  if (error instanceof ApiProblem && (error.status === 404 || error.status === 422))
    return (
      <>
        <PageHead />
        <Empty title="Run not found" action={<Link to={links.runs()}>All runs</Link>}>
          One of the two runs may have been deleted by the retention policy, or it belongs to another organisation.
        </Empty>
      </>
    );
  if (error) return <Failure fault={error} retry={() => void Promise.all([one.refetch(), other.refetch()])} />;
  return <Loading what="both runs" rows={8} />;
}

function Compared({ one, other }: { readonly one: RunWithNodes; readonly other: RunWithNodes }): JSX.Element {
  return (
    <>
      <PageHead>
        <Link className="button" to={links.compare(other.run_id, one.run_id)}>
          Swap runs
        </Link>
      </PageHead>
      <div className="compare-heads">
        <Head run={one} title="Before" />
        <Head run={other} title="After" />
      </div>
      {(one.nodes_truncated === true || other.nodes_truncated === true) && (
        <Notice tone="warn">One run has too many nodes. Only the first ones are compared.</Notice>
      )}
      <section className="panel stack-tight">
        <h2>Inputs</h2>
        <Diff before={one.inputs} after={other.inputs} label="Differences in inputs" />
        <h2>Outputs</h2>
        <Diff before={one.outputs ?? undefined} after={other.outputs ?? undefined} label="Differences in outputs" />
      </section>
      <ComparedNodes one={one} other={other} />
    </>
  );
}

function Head({ run, title }: { readonly run: RunWithNodes; readonly title: string }): JSX.Element {
  const { usage } = run;
  return (
    <section className="panel stack-tight" aria-label={title}>
      <div className="spread">
        <h2>
          {title}: <Link to={links.run(run.run_id)}>{shortId(run.run_id)}</Link>
        </h2>
        <Status state={run.state} />
      </div>
      <p className="small muted">
        Version {run.flow_version} · <Elapsed from={run.started_at} to={run.finished_at} />
        {usage.total_tokens > 0 && ` · ${usage.total_tokens.toLocaleString()} tokens`}
        {usage.total_tokens > 0 && usage.cost_usd !== null && ` · ${dollars(usage.cost_usd)}`}
      </p>
      {run.error && (
        <p className="wrap small">
          <code>{run.error.code}</code> {run.error.message}
        </p>
      )}
    </section>
  );
}
