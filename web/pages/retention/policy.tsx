import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { JSX } from "react";
import { Link } from "react-router";
import { isStale, toProblem } from "../../api/problem.ts";
import type { Tagged } from "../../api/client.ts";
import { endedBeforeOptions, retentionOptions, useRetentionChange } from "../../api/retention.ts";
import type { Retention } from "../../api/retention.ts";
import { TERMINAL_STATES } from "../../api/runs.ts";
import { links } from "../../links.ts";
import { Confirm } from "../../parts/confirm.tsx";
import { Fact } from "../../parts/facts.tsx";
import { Field } from "../../parts/field.tsx";
import { onTexts } from "../../parts/form-texts.ts";
import { ChangedMeanwhile, Failure, Loading, Notice } from "../../parts/states.tsx";
import { Submit } from "../../parts/submit.tsx";

const daysOf = (days: number): string => `${days.toLocaleString()} ${days === 1 ? "day" : "days"}`;

interface PolicyOf {
  /** Null: the organisation's. */
  readonly projectId: string | null;
  /** Whose days are set here, as a sentence goes on: "the organisation". */
  readonly whose: string;
}

/** How long runs are kept in the organisation or in a project, who has set it, and the days that can be set here. */
export function Policy({
  mayChange,
  sourceOf,
  ...of
}: PolicyOf & {
  readonly mayChange: boolean;
  /** Who has set the days that count, where it is not who sets them here. */
  readonly sourceOf: (retention: Retention) => string;
}): JSX.Element {
  const { data, error, isPending, refetch } = useQuery(retentionOptions(of.projectId));
  if (isPending) return <Loading what="the policy" rows={3} />;
  if (data === undefined) return <Failure fault={toProblem(error)} retry={() => void refetch()} />;
  const { run_days, effective_run_days: counts } = data;
  return (
    <>
      <dl className="facts">
        <Fact term="Runs are kept">{counts === null ? "for ever" : `${daysOf(counts)} after their end`}</Fact>
        <Fact term="Set by">{counts === null ? "nobody" : counts === run_days ? of.whose : sourceOf(data)}</Fact>
        <Fact term={`Set for ${of.whose}`}>{run_days === null ? "nothing" : daysOf(run_days)}</Fact>
      </dl>
      {mayChange ? <Days {...of} retention={data} /> : <p className="muted">Admins change this.</p>}
    </>
  );
}

function Days({ projectId, whose, retention }: PolicyOf & { readonly retention: Retention }): JSX.Element {
  const { etag, run_days, max_run_days: most, effective_run_days: counts } = retention;
  const change = useRetentionChange(projectId);
  const [isWrong, setWrong] = useState(false);
  /** Fewer days, which remove runs: to be confirmed, for the policy that the person saw then. */
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
        // Only an empty field unsets: what is no number must not remove a limit.
        const isNumber = /^[1-9]\d{0,4}$/.test(text);
        setWrong(text !== "" && !isNumber);
        if (text === "") change.mutate({ etag, run_days: null });
        else if (isNumber && (counts === null || Number(text) < counts)) setFewer({ etag, run_days: Number(text) });
        else if (isNumber) change.mutate({ etag, run_days: Number(text) });
      })}
    >
      <Field
        label={`Days for ${whose}`}
        hint={`${most === null ? "" : `At most ${daysOf(most)}. `}Empty: nothing is set here.`}
        errors={isWrong ? ["Give a whole number of days, 1 or more, or nothing."] : issues}
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

/** Says what fewer days remove, before they are saved. */
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
      action={data?.runs === 0 && !data.isMore ? "Save" : "Save and remove"}
      isPending={isPending || !isCounted}
      {...rest}
    >
      <span role="status">
        {!isCounted && "Counting what would be removed…"}
        {error !== null && "What would be removed could not be counted. "}
        {data?.runs === 0 && !data.isMore && `No run ended more than ${daysOf(days)} ago: nothing is removed now. `}
        {data && (data.runs > 0 || data.isMore) && (
          <>
            <strong>
              {count} {data.runs === 1 && !data.isMore ? "run" : "runs"}
            </strong>{" "}
            ended more than {daysOf(days)} ago. They are removed within minutes, with their nodes, events and values,
            and do not come back when more days are set.{" "}
            <Link to={links.runs({ ...filter, created_before: data.before })}>See the runs</Link>.{" "}
          </>
        )}
      </span>
      Later runs are removed {daysOf(days)} after their end, and so are turns of conversations.
    </Confirm>
  );
}
