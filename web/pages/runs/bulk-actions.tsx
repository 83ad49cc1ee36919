import { useQuery } from "@tanstack/react-query";
import { useState, type JSX } from "react";
import { useSearchParams } from "react-router";
import { useMay } from "../../api/accounts.ts";
import { useIntent } from "../../api/intent.ts";
import { ApiProblem } from "../../api/problem.ts";
import { createRunJob, runJobCountOptions, useRunJob, type RunJobAction } from "../../api/run-jobs.ts";
import type { RunFilters } from "../../api/runs.ts";
import { CopyCurl } from "../../parts/copy.tsx";
import { curlOfCall } from "../../parts/curl.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { Menu } from "../../parts/menu.tsx";
import { Icon } from "../../parts/icons.tsx";
import { Failure } from "../../parts/states.tsx";
import { filtersOf, withFilter } from "./filters.ts";

/** More runs match than one job can process, and then the API does not count them. */
const isTooMany = (error: unknown): error is ApiProblem => error instanceof ApiProblem && error.status === 422;

interface Wording {
  readonly button: string;
  readonly icon: "stop" | "fork" | "retry";
  readonly title: string;
  /** Which of the matching runs the action applies to. */
  readonly which: string;
  readonly what: string;
}

const WORDS: Readonly<Record<RunJobAction, Wording>> = {
  cancel: {
    button: "Cancel…",
    icon: "stop",
    title: "Cancel all matching runs",
    which: "unfinished",
    what: "Asks running nodes to stop. Completed work is not undone.",
  },
  resume: {
    button: "Resume…",
    icon: "fork",
    title: "Resume all matching runs",
    which: "failed or cancelled",
    what: "Starts a new run for each one. It reuses the finished nodes and executes the rest.",
  },
  replay: {
    button: "Rerun…",
    icon: "retry",
    title: "Rerun all matching runs",
    which: "finished",
    what: "Starts a new run for each one, with the same inputs.",
  },
};
const ACTIONS = Object.keys(WORDS) as RunJobAction[];

/** Actions on the selected runs, or on all that match the filters, for users who may take them; each shows its number of runs. */
export function BulkActions({ chosen }: { readonly chosen: readonly string[] }): JSX.Element | null {
  const may = useMay("editor");
  const [search] = useSearchParams();
  const [action, setAction] = useState<RunJobAction | null>(null);
  if (!may) return null;
  const isSelected = chosen.length > 0;
  const filter = isSelected ? { run_id: [...chosen] } : filtersOf(search);
  const name = isSelected ? `${chosen.length} selected ${chosen.length === 1 ? "run" : "runs"}` : "All matching runs";
  return (
    <>
      <Menu name={name} large closes>
        {() =>
          ACTIONS.map((each) => <Choice key={each} action={each} filter={filter} onChoose={() => setAction(each)} />)
        }
      </Menu>
      {action !== null && (
        <BulkDialog action={action} filter={filter} isSelected={isSelected} onClose={() => setAction(null)} />
      )}
    </>
  );
}

function Choice({
  action,
  filter,
  onChoose,
}: {
  readonly action: RunJobAction;
  readonly filter: RunFilters;
  readonly onChoose: () => void;
}): JSX.Element {
  const { data, error } = useQuery(runJobCountOptions(action, filter));
  const { button, icon } = WORDS[action];
  const count = data?.toLocaleString() ?? (error === null ? "…" : isTooMany(error) ? "too many" : "?");
  return (
    <button type="button" className="button button-quiet" disabled={data === 0} onClick={onChoose}>
      <Icon name={icon} /> {button} <span className="count-of">{count}</span>
    </button>
  );
}

function BulkDialog({
  action,
  filter,
  isSelected,
  onClose,
}: {
  readonly action: RunJobAction;
  readonly filter: RunFilters;
  readonly isSelected: boolean;
  readonly onClose: () => void;
}): JSX.Element {
  const [search, setSearch] = useSearchParams();
  const intent = useIntent();
  const [isNewest, setNewest] = useState(false);
  const count = useQuery(runJobCountOptions(action, filter));
  const job = useRunJob(createRunJob);
  const { title, which, what } = WORDS[action];
  const runs = `${count.data?.toLocaleString() ?? (count.error ? "all" : "…")} ${count.data === 1 ? "run" : "runs"}`;
  const body = { action, filter, ...(isNewest && { version: -1 as const }) };
  return (
    <Dialog title={isSelected ? title.replace("all matching", "selected") : title} onClose={onClose}>
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
            `${count.data.toLocaleString()} ${which} ${count.data === 1 ? "run" : "runs"} ${isSelected ? "selected" : count.data === 1 ? "matches the filters" : "match the filters"}. Child runs are included and not counted.`}
          {isTooMany(count.error) && count.error.issues.map(({ msg }) => msg).join(" ")}
        </p>
        <p>{what}</p>
        {action !== "cancel" && (
          <fieldset className="stack-tight">
            <legend>Version</legend>
            <label className="check">
              <input type="radio" name="version" checked={!isNewest} onChange={() => setNewest(false)} /> The version
              each run used
            </label>
            <label className="check">
              <input type="radio" name="version" checked={isNewest} onChange={() => setNewest(true)} /> The currently
              published version
            </label>
          </fieldset>
        )}
        {count.error && !isTooMany(count.error) && <Failure fault={count.error} retry={() => void count.refetch()} />}
        {job.error && <Failure fault={job.error} />}
        <div className="row">
          <button
            type="submit"
            className={`button ${action === "cancel" ? "button-danger" : "button-primary"}`}
            disabled={job.isPending || count.data === undefined || count.data === 0}
          >
            {action === "cancel" ? "Cancel" : action === "resume" ? "Resume" : "Rerun"} {runs}
          </button>
          <button type="button" className="button" onClick={onClose}>
            {action === "cancel" ? "Keep running" : "Cancel"}
          </button>
          <CopyCurl command={curlOfCall("POST", "/v2/run-jobs", body)} />
        </div>
      </form>
    </Dialog>
  );
}
