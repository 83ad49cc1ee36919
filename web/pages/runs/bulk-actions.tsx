import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { JSX } from "react";
import { useSearchParams } from "react-router";
import { useMay } from "../../api/accounts.ts";
import { newIntent } from "../../api/client.ts";
import { ApiProblem, toProblem } from "../../api/problem.ts";
import { createRunJob, runJobCountOptions, useRunJob } from "../../api/run-jobs.ts";
import type { RunJobAction } from "../../api/run-jobs.ts";
import { CopyCurl } from "../../parts/copy.tsx";
import { curlOfCall } from "../../parts/curl.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { Menu } from "../../parts/menu.tsx";
import { Icon } from "../../parts/icons.tsx";
import { Failure } from "../../parts/states.tsx";
import { filtersOf, withFilter } from "./filters.ts";

/** Whether more runs match than one job takes: then they are not counted either. */
const isTooMany = (error: unknown): error is ApiProblem => error instanceof ApiProblem && error.status === 422;

interface Wording {
  readonly button: string;
  readonly icon: "stop" | "fork" | "retry";
  readonly title: string;
  /** Which runs it is about, beside the filter. */
  readonly which: string;
  readonly what: string;
}

const WORDS: Readonly<Record<RunJobAction, Wording>> = {
  cancel: {
    button: "Cancel all…",
    icon: "stop",
    title: "Cancel all that match",
    which: "under way",
    what: "Their nodes are asked to stop. Finished work is not undone.",
  },
  resume: {
    button: "Resume all…",
    icon: "fork",
    title: "Resume all that match",
    which: "failed or cancelled",
    what: "For each a new run takes over what had been done, and does the rest.",
  },
  replay: {
    button: "Run all again…",
    icon: "retry",
    title: "Run all that match again",
    which: "ended",
    what: "For each a new run begins, with the same inputs.",
  },
};
const ACTIONS = Object.keys(WORDS) as RunJobAction[];

/** Actions on every run that the filters find, for users who may take them, each with the number of runs that it would be about. */
export function BulkActions(): JSX.Element | null {
  const may = useMay("editor");
  const [action, setAction] = useState<RunJobAction | null>(null);
  if (!may) return null;
  return (
    <>
      <Menu name="All that match…" large closes>
        {() => ACTIONS.map((each) => <Choice key={each} action={each} onChoose={() => setAction(each)} />)}
      </Menu>
      {action !== null && <BulkDialog action={action} onClose={() => setAction(null)} />}
    </>
  );
}

function Choice({ action, onChoose }: { readonly action: RunJobAction; readonly onChoose: () => void }): JSX.Element {
  const [search] = useSearchParams();
  const { data, error } = useQuery(runJobCountOptions(action, filtersOf(search)));
  const { button, icon } = WORDS[action];
  const count = data?.toLocaleString() ?? (error === null ? "…" : isTooMany(error) ? "too many" : "?");
  return (
    <button type="button" className="button button-quiet" disabled={data === 0} onClick={onChoose}>
      <Icon name={icon} /> {button} <span className="count-of">{count}</span>
    </button>
  );
}

function BulkDialog({ action, onClose }: { readonly action: RunJobAction; readonly onClose: () => void }): JSX.Element {
  const [search, setSearch] = useSearchParams();
  const [intent] = useState(newIntent);
  const [isNewest, setNewest] = useState(false);
  const filter = filtersOf(search);
  const count = useQuery(runJobCountOptions(action, filter));
  const job = useRunJob(createRunJob);
  const { title, which, what } = WORDS[action];
  const runs = `${count.data?.toLocaleString() ?? (count.error ? "all" : "…")} ${count.data === 1 ? "run" : "runs"}`;
  const body = { action, filter, ...(isNewest && { version: -1 as const }) };
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          job.mutate(
            { ...body, intent },
            {
              onSuccess({ job_id }) {
                onClose();
                setSearch(withFilter(search, "job", job_id));
              },
            },
          );
        }}
      >
        <p role="status">
          {count.isPending && "Counting…"}
          {count.data !== undefined &&
            `${runs} ${which}, among the runs that the filters find. Runs of sub-flows go along.`}
          {isTooMany(count.error) && count.error.issues.map(({ msg }) => msg).join(" ")}
        </p>
        <p>{what}</p>
        {action !== "cancel" && (
          <fieldset className="stack-tight">
            <legend>Version</legend>
            <label className="check">
              <input type="radio" name="version" checked={!isNewest} onChange={() => setNewest(false)} /> The one that
              each run had
            </label>
            <label className="check">
              <input type="radio" name="version" checked={isNewest} onChange={() => setNewest(true)} /> The one that is
              published now
            </label>
          </fieldset>
        )}
        {count.error && !isTooMany(count.error) && (
          <Failure fault={toProblem(count.error)} retry={() => void count.refetch()} />
        )}
        {job.error && <Failure fault={toProblem(job.error)} />}
        <div className="row">
          <button
            type="submit"
            className={`button ${action === "cancel" ? "button-danger" : "button-primary"}`}
            disabled={job.isPending || count.data === undefined || count.data === 0}
          >
            {action === "cancel" ? "Cancel" : action === "resume" ? "Resume" : "Run again"} {runs}
          </button>
          <button type="button" className="button" onClick={onClose}>
            Leave them
          </button>
          <CopyCurl command={curlOfCall("POST", "/v2/run-jobs", body)} />
        </div>
      </form>
    </Dialog>
  );
}
