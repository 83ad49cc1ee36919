import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import type { JSX } from "react";
import { Link, useSearchParams } from "react-router";
import { useMay } from "../../api/accounts.ts";
import { shownPausesOptions } from "../../api/pauses.ts";
import { toProblem } from "../../api/problem.ts";
import type { Run } from "../../api/runs.ts";
import { brokenConnectionsOptions, statisticsOptions, stuckOptions, usageOptions } from "../../api/system.ts";
import { subscriptionsOptions } from "../../api/webhooks.ts";
import { links } from "../../links.ts";
import { shortId } from "../../parts/copy.tsx";
import { HowFarBack, hoursOf, wordsOf } from "../../parts/how-far-back.tsx";
import type { Hours } from "../../parts/how-far-back.tsx";
import { ListChanges } from "../../parts/list-changes.tsx";
import { PageHead } from "../../parts/page.tsx";
import { useProjectName } from "../project-names.ts";
import { Empty, Failure, Loading } from "../../parts/states.tsx";
import { Table } from "../../parts/table.tsx";
import { Time, duration } from "../../parts/time.tsx";
import { UsageTable } from "../../parts/usage-table.tsx";
import { Failures } from "./failures.tsx";
import { Figure } from "./figure.tsx";
import { OutcomeBars } from "./outcome-bars.tsx";
import { QueueFigure, Queues } from "./queues.tsx";
import "./home.css";

const CLOCK = new Intl.DateTimeFormat(undefined, { weekday: "short", hour: "2-digit", minute: "2-digit" });
const OPEN = ["PENDING", "RUNNING", "RESUMED"];
const SHARE = new Intl.NumberFormat(undefined, { style: "percent", maximumFractionDigits: 1 });

/** Statistics count the runs from a time on, lists have those after one. */
const justBefore = (time: string): string => new Date(Date.parse(time) - 1).toISOString();

/** How things stand; every figure leads to the list behind it. */
export function HomePage(): JSX.Element {
  const [search, setSearch] = useSearchParams();
  const isAdmin = useMay("admin");
  const isViewer = useMay("viewer");
  const hours = hoursOf(search.get("hours"));
  return (
    <>
      <PageHead title="Home">
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
  const { data, error, isPending, refetch } = useQuery(statisticsOptions(hours));
  const { data: pauses } = useInfiniteQuery(shownPausesOptions("all"));
  const isViewer = useMay("viewer");
  const { data: webhooks } = useQuery({ ...subscriptionsOptions("all"), enabled: isViewer });
  const { data: failingWebhooks } = useQuery({ ...subscriptionsOptions("failing"), enabled: isViewer });
  const { data: connections } = useQuery({ ...brokenConnectionsOptions, enabled: isViewer });
  if (isPending) return <Loading what="figures" rows={4} />;
  if (data === undefined) return <Failure fault={toProblem(error)} retry={() => void refetch()} />;

  const { totals, failure_rate: rate, latency, live } = data;
  const since = { created_after: justBefore(data.from) };
  const underWay = live.filter(({ state }) => OPEN.includes(state));
  const running = underWay.reduce((sum, { runs }) => sum + runs, 0);
  const oldest = underWay.map(({ oldest_at }) => oldest_at).toSorted()[0];
  const waiting = pauses?.data ?? [];
  const failing = failingWebhooks?.data ?? [];
  const broken = connections?.data ?? [];
  const atLeast = (count: number, more: boolean | undefined): string => `${count.toLocaleString()}${more ? "+" : ""}`;
  return (
    <>
      <div className="figures">
        <Figure
          name="Under way"
          to={links.runs({ state: OPEN })}
          note={
            oldest === undefined ? (
              "Nothing is running"
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
          note={rate === null ? "No run has ended" : `${SHARE.format(rate)} of the runs that ended`}
        >
          {totals.failed.toLocaleString()}
        </Figure>
        <Figure
          name="Took, median"
          to={links.runs({ ...since, state: ["COMPLETED", "FAILED"] })}
          note={latency.p95_ms === null ? "No run has ended" : `95 of 100 within ${duration(latency.p95_ms)}`}
        >
          {duration(latency.p50_ms)}
        </Figure>
        <Figure
          name="Wait for a decision"
          tone={waiting.length > 0 ? "wait" : undefined}
          to={links.inbox("all")}
          note={
            waiting[0] ? (
              <>
                Oldest: <Time at={waiting[0].created_at} />
              </>
            ) : (
              "The inbox is empty"
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
            note={`of ${atLeast(webhooks?.data.length ?? 0, webhooks?.has_more)}`}
          >
            {atLeast(failing.length, failingWebhooks?.has_more)}
          </Figure>
        )}
        {isViewer && (
          <Figure
            name="Broken connections"
            tone={broken.length > 0 ? "bad" : undefined}
            to={links.connections({ status: "error" })}
            note={broken.length === 0 ? "None is refused" : broken.map(({ name }) => name).join(", ")}
          >
            {atLeast(broken.length, connections?.has_more)}
          </Figure>
        )}
        <QueueFigure />
      </div>
      <section className="panel stack-tight" aria-label="Runs over time">
        <h2>Runs created</h2>
        <OutcomeBars
          caption="Runs created, by how they stand"
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
      </section>
    </>
  );
}

function Stuck(): JSX.Element {
  const { data, error, isPending, refetch } = useQuery(stuckOptions);
  const nameOf = useProjectName();
  return (
    <section className="stack-tight" aria-labelledby="stuck">
      <div className="spread">
        <h2 id="stuck">Stuck</h2>
        <ListChanges name="stuck" ids={data?.data.map(({ run_id }) => run_id)} />
        <Link to={links.runs({ stuck: "true" })}>All</Link>
      </div>
      {isPending && <Loading what="stuck runs" rows={2} />}
      {error !== null && <Failure fault={toProblem(error)} retry={() => void refetch()} />}
      {data?.data.length === 0 && (
        <div className="panel">
          <Empty title="Nothing is stuck">Every run under way makes progress, or waits for somebody.</Empty>
        </div>
      )}
      {data && data.data.length > 0 && (
        <Table
          caption="Stuck runs"
          rows={data.data}
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
            { id: "why", head: "Why", wideOnly: true, cell: (run) => <span className="wrap">{whyOf(run)}</span> },
            {
              id: "since",
              head: "Since",
              cell: (run) => <Time at={run.waiting_for?.since ?? run.started_at ?? run.created_at} />,
            },
          ]}
        />
      )}
    </section>
  );
}

const whyOf = ({ waiting_for, progress_data }: Run): string => waiting_for?.reason ?? progress_data.current_node ?? "-";

function Cost({ hours }: { readonly hours: Hours }): JSX.Element {
  const { data, error, isPending, refetch } = useQuery(usageOptions({ group_by: "model", hours: Number(hours) }));
  return (
    <section className="stack-tight" aria-labelledby="cost">
      <div className="spread">
        <h2 id="cost">Models, last {wordsOf(hours)}</h2>
        <Link to={links.usage({ hours })}>By project and day</Link>
      </div>
      {isPending && <Loading what="costs" rows={2} />}
      {error !== null && <Failure fault={toProblem(error)} retry={() => void refetch()} />}
      {data?.data.length === 0 && (
        <div className="panel">
          <Empty title="No model was asked">Calls of models, their tokens and their cost are summed here.</Empty>
        </div>
      )}
      {data && data.data.length > 0 && (
        <UsageTable
          caption="Cost by model"
          head="Model"
          rows={data.data}
          nameOf={({ key }) => (
            <Link className="wrap" to={links.usage({ hours, model: key })} data-row>
              {key}
            </Link>
          )}
        />
      )}
    </section>
  );
}
