import { useQuery } from "@tanstack/react-query";
import type { JSX } from "react";
import { Link, useSearchParams } from "react-router";
import { useMay } from "../../api/accounts.ts";
import { toProblem } from "../../api/problem.ts";
import { abortRunJob, runJobOptions, useRunJob } from "../../api/run-jobs.ts";
import type { RunJob } from "../../api/run-jobs.ts";
import { links } from "../../links.ts";
import { shortId } from "../../parts/copy.tsx";
import { Icon } from "../../parts/icons.tsx";
import { Failure, Loading } from "../../parts/states.tsx";
import { withFilter } from "./filters.ts";

const DOING = { cancel: "Cancelling runs", resume: "Resuming runs", replay: "Running again" } as const;
const STATES = {
  PENDING: "will begin",
  RUNNING: "under way",
  COMPLETED: "done",
  ABORTED: "aborted",
  FAILED: "failed",
} as const;

/** How far a job on many runs is, above the list; the address has its id. */
export function RunJobPanel({ jobId }: { readonly jobId: string }): JSX.Element {
  const [search, setSearch] = useSearchParams();
  const { data, error, refetch } = useQuery(runJobOptions(jobId));
  const hide = (
    <button
      type="button"
      className="button button-quiet button-small"
      onClick={() => setSearch(withFilter(search, "job", null))}
    >
      <Icon name="cross" /> Hide
    </button>
  );
  if (data === undefined) {
    return (
      <section className="panel stack-tight" aria-label="Job">
        <div className="spread">
          {error ? (
            <Failure fault={toProblem(error)} retry={() => void refetch()} />
          ) : (
            <Loading what="the job" rows={2} />
          )}
          {hide}
        </div>
      </section>
    );
  }
  return (
    <section className="panel stack-tight" aria-label="Job">
      <div className="spread">
        <h2>
          {DOING[data.action]}: {data.abort_requested && data.finished_at === null ? "stopping" : STATES[data.state]}
        </h2>
        <div className="row">
          <Abort job={data} />
          {hide}
        </div>
      </div>
      <Progress job={data} />
      <Errors job={data} />
    </section>
  );
}

function Progress({ job: { counts } }: { readonly job: RunJob }): JSX.Element {
  const { matched, done, skipped, failed } = counts;
  return (
    <>
      <progress
        className="job-progress"
        max={Math.max(1, matched)}
        value={done + skipped + failed}
        aria-label="Progress"
      />
      <p role="status">
        {done.toLocaleString()} of {matched.toLocaleString()} done
        {skipped > 0 && `, ${skipped.toLocaleString()} had changed meanwhile`}
        {failed > 0 && `, ${failed.toLocaleString()} could not be done`}
      </p>
    </>
  );
}

function Abort({ job }: { readonly job: RunJob }): JSX.Element | null {
  const may = useMay("editor");
  const abort = useRunJob(abortRunJob);
  if (!may || job.finished_at !== null) return null;
  return (
    <>
      {abort.error && <Failure fault={toProblem(abort.error)} />}
      <button
        type="button"
        className="button button-danger button-small"
        disabled={abort.isPending || job.abort_requested}
        onClick={() => abort.mutate(job.job_id)}
      >
        <Icon name="stop" /> Abort
      </button>
    </>
  );
}

function Errors({ job: { errors, counts } }: { readonly job: RunJob }): JSX.Element | null {
  if (errors.length === 0) return null;
  return (
    <details>
      <summary>Why {errors.length < counts.failed && `(the first ${errors.length})`}</summary>
      <ul className="stack-tight">
        {errors.map(({ run_id, code, message }, index) => (
          <li key={run_id ?? index} className="wrap">
            {run_id !== null && <Link to={links.run(run_id)}>{shortId(run_id)}</Link>} <code>{code}</code> {message}
          </li>
        ))}
      </ul>
    </details>
  );
}
