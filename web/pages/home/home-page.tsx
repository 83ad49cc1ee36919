import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import type { JSX } from "react";
import { Link, useSearchParams } from "react-router";
import { useMay } from "../../api/accounts.ts";
import { shownPausesOptions } from "../../api/pauses.ts";
import { newestRunsOptions, reasonOf, type Run } from "../../api/runs.ts";
import { brokenConnectionsOptions, statisticsOptions, stuckOptions, usageOptions } from "../../api/system.ts";
import { subscriptionsOptions } from "../../api/webhooks.ts";
import { links } from "../../links.ts";
import { shortId } from "../../parts/copy.tsx";
import { HowFarBack, hoursOf, wordsOf, type Hours } from "../../parts/how-far-back.tsx";
import { Fetched } from "../../parts/list/fetched.tsx";
import { ListChanges } from "../../parts/list-changes.tsx";
import { PageHead } from "../../parts/page.tsx";
import { useProjectName } from "../project-names.ts";
import { Empty } from "../../parts/states.tsx";
import { Table } from "../../parts/table.tsx";
import { Time, duration } from "../../parts/time.tsx";
import { UsageTable } from "../../parts/usage-table.tsx";
import { Failures } from "./failures.tsx";
import { Figure } from "./figure.tsx";
import { OutcomeBars } from "./outcome-bars.tsx";
import { QueueFigure, Queues } from "./queues.tsx";
import "./home.css";

// Includes the date, because within seven days a weekday with an hour can mean two days.
const CLOCK = new Intl.DateTimeFormat(undefined, {
  weekday: "short",
  month: "short",
  day: "numeric",
  hour: "2-digit",
  minute: "2-digit",
});
const IN_PROGRESS = ["PENDING", "RUNNING", "RESUMED"];
const SHARE = new Intl.NumberFormat(undefined, { style: "percent", maximumFractionDigits: 1 });

/** Statistics include runs created at the start time; list filters only include later ones. */
const justBefore = (time: string): string => new Date(Date.parse(time) - 1).toISOString();

/** Runs, failures, cost and queues; every figure links to the list behind it. */
export function HomePage(): JSX.Element {
  const [search, setSearch] = useSearchParams();
  const isAdmin = useMay("admin");
  const isViewer = useMay("viewer");
  const hours = hoursOf(search.get("hours"));
  return (
    <>
      <PageHead about="Runs, failures, stuck runs, model cost and queues for the selected time range.">
        <HowFarBack hours={hours} onChange={(chosen) => setSearch(chosen === null ? {} : { hours: chosen })} />
      </PageHead>
      <Runs hours={Number(hours)} />
      <div className="home-columns">
        <Failures hours={Number(hours)} />
        <Stuck />
        {isViewer && <Cost hours={hours} />}
        {isAdmin && <Queues />}
      </div>
    </>
  );
}

function Runs({ hours }: { readonly hours: number }): JSX.Element {
  const statistics = useQuery(statisticsOptions(hours));
  const { data: pauses } = useInfiniteQuery(shownPausesOptions("all"));
  const isViewer = useMay("viewer");
  const { data: webhooks } = useQuery({ ...subscriptionsOptions("all"), enabled: isViewer });
  const { data: failingWebhooks } = useQuery({ ...subscriptionsOptions("failing"), enabled: isViewer });
  const { data: connections } = useQuery({ ...brokenConnectionsOptions, enabled: isViewer });
  const { data } = statistics;
  const isQuiet =
    data !== undefined &&
    data.live.length === 0 &&
    data.totals.completed + data.totals.failed + data.totals.cancelled === 0;
  const { data: newest } = useQuery({ ...newestRunsOptions({}), enabled: isQuiet });
  if (data === undefined) return <Fetched query={statistics} what="figures" rows={4} />;

  const { totals, failure_rate: rate, latency, live } = data;
  const since = { created_after: justBefore(data.from) };
  const inProgress = live.filter(({ state }) => IN_PROGRESS.includes(state));
  const running = inProgress.reduce((sum, { runs }) => sum + runs, 0);
  const oldest = inProgress.map(({ oldest_at }) => oldest_at).toSorted()[0];
  const waiting = pauses?.data ?? [];
  const failing = failingWebhooks?.data ?? [];
  const broken = connections?.data ?? [];
  const atLeast = (count: number, more: boolean | undefined): string => `${count.toLocaleString()}${more ? "+" : ""}`;
  return (
    <>
      <div className="figures">
        <Figure
          name="In progress"
          to={links.runs({ state: IN_PROGRESS })}
          note={
            oldest === undefined ? (
              "No runs in progress"
            ) : (
              <>
                Oldest: <Time at={oldest} />
              </>
            )
          }
        >
          {running.toLocaleString()}
        </Figure>
        <Figure name="Completed" to={links.runs({ ...since, state: "COMPLETED" })}>
          {totals.completed.toLocaleString()}
        </Figure>
        <Figure
          name="Failed"
          tone={totals.failed > 0 ? "bad" : undefined}
          to={links.runs({ ...since, state: "FAILED" })}
          note={rate === null ? "No completed or failed runs" : `${SHARE.format(rate)} of completed and failed runs`}
        >
          {totals.failed.toLocaleString()}
        </Figure>
        <Figure
          name="Median duration"
          to={links.runs({ ...since, state: ["COMPLETED", "FAILED"] })}
          note={
            latency.p95_ms === null ? (
              "No completed or failed runs"
            ) : (
              <span title="95 % of completed and failed runs took at most this long">
                p95 {duration(latency.p95_ms)}
              </span>
            )
          }
        >
          {duration(latency.p50_ms)}
        </Figure>
        <Figure
          name="Waiting for approval"
          tone={waiting.length > 0 ? "wait" : undefined}
          to={links.inbox("all")}
          note={
            waiting[0] ? (
              <>
                Oldest: <Time at={waiting[0].created_at} />
              </>
            ) : (
              "No approvals waiting"
            )
          }
        >
          {atLeast(waiting.length, pauses?.has_more)}
        </Figure>
        {isViewer && (
          <Figure
            name="Failing webhooks"
            tone={failing.length > 0 ? "bad" : undefined}
            to={
              failing.length === 1 && failing[0]
                ? links.webhook(failing[0].subscription_id)
                : links.webhooks({ failing: "true" })
            }
            note={`of ${atLeast(webhooks?.data.length ?? 0, webhooks?.has_more)} ${webhooks?.data.length === 1 ? "webhook" : "webhooks"}`}
          >
            {atLeast(failing.length, failingWebhooks?.has_more)}
          </Figure>
        )}
        {isViewer && (
          <Figure
            name="Broken connections"
            tone={broken.length > 0 ? "bad" : undefined}
            to={links.connections({ status: "error" })}
            note={broken.length === 0 ? "No connection errors" : broken.map(({ name }) => name).join(", ")}
          >
            {atLeast(broken.length, connections?.has_more)}
          </Figure>
        )}
        <QueueFigure />
      </div>
      <section className="panel stack-tight" aria-label="Runs over time">
        <h2>Runs created</h2>
        {newest?.data.length === 0 ? (
          <Empty title="No runs yet" action={<a href="/docs">API reference</a>}>
            Deploy a flow and start a run to see activity here.
          </Empty>
        ) : (
          <OutcomeBars
            caption="Runs created, by current state"
            unit="Runs"
            states={["COMPLETED", "FAILED", "CANCELLED", "PAUSED", "RUNNING"]}
            bars={data.buckets.map(({ start, completed, failed, cancelled, paused, open }, index) => ({
              label: CLOCK.format(new Date(start)),
              counts: {
                COMPLETED: completed,
                FAILED: failed,
                CANCELLED: cancelled,
                PAUSED: paused,
                RUNNING: open - paused,
              },
              to: links.runs({
                created_after: justBefore(start),
                created_before: data.buckets[index + 1]?.start ?? data.to,
              }),
            }))}
          />
        )}
      </section>
    </>
  );
}

function Stuck(): JSX.Element {
  const stuck = useQuery(stuckOptions);
  const nameOf = useProjectName();
  return (
    <section className="stack-tight" aria-labelledby="stuck">
      <div className="spread">
        <h2 id="stuck">Stuck</h2>
        <ListChanges name="stuck" ids={stuck.data?.data.map(({ run_id }) => run_id)} />
        <Link to={links.runs({ stuck: "true" })}>View all stuck runs</Link>
      </div>
      <Fetched query={stuck} what="stuck runs" rows={2}>
        {({ data }) =>
          data.length === 0 ? (
            <div className="panel">
              <Empty title="No stuck runs">
                Runs that make no progress appear here. Runs that wait for an approval, a delay or a child run are not
                stuck.
              </Empty>
            </div>
          ) : (
            <Table
              caption="Stuck runs"
              rows={data}
              keyOf={(run) => run.run_id}
              columns={[
                {
                  id: "run",
                  head: "Run",
                  cell: (run) => (
                    <span className="wrap">
                      <Link to={links.run(run.run_id)} data-row>
                        {nameOf(run.project_id)} <code className="nowrap">{shortId(run.run_id)}</code>
                      </Link>
                      <span className="narrow-only small">{whyOf(run)}</span>
                    </span>
                  ),
                },
                {
                  id: "why",
                  head: "Reason",
                  wideOnly: true,
                  cell: (run) => <span className="wrap clamp">{whyOf(run)}</span>,
                },
                {
                  id: "since",
                  head: "Since",
                  cell: (run) => <Time at={run.waiting_for?.since ?? run.started_at ?? run.created_at} />,
                },
              ]}
            />
          )
        }
      </Fetched>
    </section>
  );
}

const whyOf = (run: Run): string => {
  const { waiting_for, progress_data } = run;
  return (
    reasonOf(run) ??
    waiting_for?.reason ??
    (progress_data.current_node === null ? "-" : `At node ${progress_data.current_node}`)
  );
};

function Cost({ hours }: { readonly hours: Hours }): JSX.Element {
  const usage = useQuery(usageOptions({ group_by: "model", hours: Number(hours) }));
  return (
    <section className="stack-tight" aria-labelledby="cost">
      <div className="spread">
        <h2 id="cost">Model usage, last {wordsOf(hours)}</h2>
        <Link to={links.usage({ hours })}>View by project and day</Link>
      </div>
      <Fetched query={usage} what="costs" rows={2}>
        {({ data }) =>
          data.length === 0 ? (
            <div className="panel">
              <Empty title="No model calls">Model calls in this time range appear here.</Empty>
            </div>
          ) : (
            <UsageTable
              caption="Cost by model"
              head="Model"
              rows={data}
              nameOf={({ key }) => (
                <Link className="wrap" to={links.usage({ hours, model: key })} data-row>
                  {key}
                </Link>
              )}
            />
          )
        }
      </Fetched>
    </section>
  );
}
