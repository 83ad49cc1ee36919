import { useQuery } from "@tanstack/react-query";
import { useState, type JSX } from "react";
import { Link } from "react-router";
import { isStale, toProblem } from "../../api/problem.ts";
import type { Tagged } from "../../api/client.ts";
import { endedBeforeOptions, retentionOptions, useRetentionChange, type Retention } from "../../api/retention.ts";
import { TERMINAL_STATES } from "../../api/runs.ts";
import { links } from "../../links.ts";
import { Confirm } from "../../parts/confirm.tsx";
import { Fact } from "../../parts/facts.tsx";
import { Field } from "../../parts/field.tsx";
import { onTexts } from "../../parts/form-texts.ts";
import { Fetched } from "../../parts/list/fetched.tsx";
import { ChangedMeanwhile, Failure, Notice } from "../../parts/states.tsx";
import { Submit } from "../../parts/submit.tsx";

const daysOf = (days: number): string => `${days.toLocaleString()} ${days === 1 ? "day" : "days"}`;

interface PolicyOf {
  /** null means the organisation. */
  readonly projectId: string | null;
  /** Owner of this policy for use inside a sentence: "the organisation". */
  readonly whose: string;
}

/** The retention of runs in an organisation or project, where that value comes from, and a form to change it. */
export function Policy({
  mayChange,
  sourceOf,
  ...of
}: PolicyOf & {
  readonly mayChange: boolean;
  /** Describes where the effective days come from if they are not set here. */
  readonly sourceOf: (retention: Retention) => string;
}): JSX.Element {
  const retention = useQuery(retentionOptions(of.projectId));
  return (
    <Fetched query={retention} what="the policy" rows={3}>
      {(data) => {
        const { run_days, effective_run_days: counts } = data;
        return (
          <>
            <dl className="facts">
              <Fact term="Runs are kept">{counts === null ? "forever" : `${daysOf(counts)} after they finish`}</Fact>
              <Fact term="Set by">{counts === null ? "not set" : counts === run_days ? of.whose : sourceOf(data)}</Fact>
              <Fact term={`Setting of ${of.whose}`}>{run_days === null ? "none" : daysOf(run_days)}</Fact>
            </dl>
            {mayChange ? <Days {...of} retention={data} /> : <p className="muted">Only admins can change this.</p>}
          </>
        );
      }}
    </Fetched>
  );
}

function Days({ projectId, whose, retention }: PolicyOf & { readonly retention: Retention }): JSX.Element {
  const { etag, run_days, max_run_days: most, effective_run_days: counts } = retention;
  const change = useRetentionChange(projectId);
  const [isWrong, setWrong] = useState(false);
  /** A smaller number of days, which deletes runs, waiting for confirmation; with the ETag of the policy that the user saw. */
  const [fewer, setFewer] = useState<Tagged<{ readonly run_days: number }> | null>(null);
  const problem = change.error && toProblem(change.error);
  const issues = problem?.status === 422 ? problem.issues.map(({ msg }) => msg) : [];
  return (
    <form
      className="stack"
      noValidate
      onSubmit={onTexts((given) => {
        const text = given("days").trim();
        change.reset();
        // Only an empty field clears the days: a text that is not a number must not remove a limit.
        const isNumber = /^[1-9]\d{0,4}$/.test(text);
        setWrong(text !== "" && !isNumber);
        if (text === "") change.mutate({ etag, run_days: null });
        else if (isNumber && (counts === null || Number(text) < counts)) setFewer({ etag, run_days: Number(text) });
        else if (isNumber) change.mutate({ etag, run_days: Number(text) });
      })}
    >
      <Field
        label={`Days for ${whose}`}
        hint={`${most === null ? "" : `At most ${daysOf(most)}. `}Leave empty to use the inherited value.`}
        errors={isWrong ? ["Enter a whole number of days (1 or more), or leave it empty."] : issues}
      >
        {(control) => (
          <input
            key={run_days}
            className="input input-short"
            name="days"
            inputMode="numeric"
            autoComplete="off"
            defaultValue={run_days ?? ""}
            {...control}
          />
        )}
      </Field>
      {isStale(problem) && fewer === null && <ChangedMeanwhile />}
      {problem && !isStale(problem) && issues.length === 0 && fewer === null && <Failure fault={problem} />}
      {change.isSuccess && <Notice tone="good">Saved.</Notice>}
      <Submit isPending={change.isPending}>Save</Submit>
      {fewer !== null && (
        <Fewer
          projectId={projectId}
          whose={whose}
          days={fewer.run_days}
          fault={problem}
          isPending={change.isPending}
          onConfirm={() =>
            change.mutate(fewer, {
              onSettled: (_, failed) => {
                if (!failed || isStale(failed)) setFewer(null);
              },
            })
          }
          onClose={() => {
            change.reset();
            setFewer(null);
          }}
        />
      )}
    </form>
  );
}

/** Confirms a shorter retention and shows how many runs it deletes. */
function Fewer({
  projectId,
  whose,
  days,
  isPending,
  ...rest
}: PolicyOf & { readonly days: number } & Pick<
    Parameters<typeof Confirm>[0],
    "fault" | "isPending" | "onConfirm" | "onClose"
  >): JSX.Element {
  const { data, error } = useQuery(endedBeforeOptions(projectId, days));
  const isCounted = data !== undefined || error !== null;
  const count = data && `${data.runs.toLocaleString()}${data.isMore ? " or more" : ""}`;
  const filter = { state: TERMINAL_STATES, ...(projectId !== null && { project_id: projectId }) };
  return (
    <Confirm
      title={`Keep runs of ${whose} for ${daysOf(days)}`}
      action={data?.runs === 0 && !data.isMore ? "Save" : "Save and delete runs"}
      isPending={isPending || !isCounted}
      {...rest}
    >
      <span role="status">
        {!isCounted && "Counting the runs to delete…"}
        {error !== null && "The runs to delete could not be counted. "}
        {data?.runs === 0 &&
          !data.isMore &&
          `No run finished more than ${daysOf(days)} ago, so no run is deleted now. `}
        {data && (data.runs > 0 || data.isMore) && (
          <>
            <strong>
              {count} {data.runs === 1 && !data.isMore ? "run" : "runs"}
            </strong>{" "}
            finished more than {daysOf(days)} ago. They are deleted within minutes, with their nodes, events and values.
            This cannot be undone.{" "}
            <Link to={links.runs({ ...filter, created_before: data.before })}>View the runs</Link>.{" "}
          </>
        )}
      </span>
      Other runs are deleted {daysOf(days)} after they finish. Turns of conversations are deleted after the same time.
    </Confirm>
  );
}
