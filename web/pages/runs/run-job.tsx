import { useQuery } from "@tanstack/react-query";
import type { JSX } from "react";
import { Link, useSearchParams } from "react-router";
import { useMay } from "../../api/accounts.ts";
import { abortRunJob, runJobOptions, useRunJob, type RunJob } from "../../api/run-jobs.ts";
import { links } from "../../links.ts";
import { Fetched } from "../../parts/list/fetched.tsx";
import { shortId } from "../../parts/copy.tsx";
import { Icon } from "../../parts/icons.tsx";
import { Failure } from "../../parts/states.tsx";
import { withFilter } from "./filters.ts";

const DOING = { cancel: "Cancelling runs", resume: "Resuming runs", replay: "Rerunning runs" } as const;
const STATES = {
  PENDING: "queued",
  RUNNING: "running",
  COMPLETED: "completed",
  ABORTED: "stopped",
  FAILED: "failed",
} as const;

/** Progress of a bulk run job, above the list; the URL holds its ID. */
export function RunJobPanel({ jobId }: { readonly jobId: string }): JSX.Element {
  const [search, setSearch] = useSearchParams();
  const job = useQuery(runJobOptions(jobId));
  const { data } = job;
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
      <section className="panel stack-tight" aria-label="Bulk run job">
        <div className="spread">
          <Fetched query={job} what="the job" rows={2} />
          {hide}
        </div>
      </section>
    );
  }
  return (
    <section className="panel stack-tight" aria-label="Bulk run job">
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
        {skipped > 0 && `, ${skipped.toLocaleString()} skipped (state changed)`}
        {failed > 0 && `, ${failed.toLocaleString()} failed`}
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
      {abort.error && <Failure fault={abort.error} />}
      <button
        type="button"
        className="button button-danger button-small"
        disabled={abort.isPending || job.abort_requested}
        onClick={() => abort.mutate(job.job_id)}
      >
        <Icon name="stop" /> Stop job
      </button>
    </>
  );
}

function Errors({ job: { errors, counts } }: { readonly job: RunJob }): JSX.Element | null {
  if (errors.length === 0) return null;
  return (
    <details>
      <summary>Errors {errors.length < counts.failed && `(first ${errors.length})`}</summary>
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
