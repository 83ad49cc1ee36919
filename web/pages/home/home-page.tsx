import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import type { JSX } from "react";
import { Link, useSearchParams } from "react-router";
import { useMay } from "../../api/accounts.ts";
import { shownPausesOptions } from "../../api/pauses.ts";
import { toProblem } from "../../api/problem.ts";
import { projectsOptions } from "../../api/runs.ts";
import { brokenConnectionsOptions, modelCostOptions, statisticsOptions, stuckOptions } from "../../api/system.ts";
import { subscriptionsOptions } from "../../api/webhooks.ts";
import { links } from "../../links.ts";
import { shortId } from "../../parts/copy.tsx";
import { ListChanges } from "../../parts/list-changes.tsx";
import { OutcomeBars } from "../../parts/outcome-bars.tsx";
import { PageHead } from "../../parts/page.tsx";
import { Empty, Failure, Loading } from "../../parts/states.tsx";
import { Table } from "../../parts/table.tsx";
import { Time, duration } from "../../parts/time.tsx";
import { Figure } from "./figure.tsx";
import { QueueFigure, Queues } from "./queues.tsx";
import "./home.css";

const WINDOWS = { "1": "1 hour", "24": "24 hours", "168": "7 days", "720": "30 days" };
const HOURS = Object.keys(WINDOWS) as Array<keyof typeof WINDOWS>;
const CLOCK = new Intl.DateTimeFormat(undefined, { weekday: "short", hour: "2-digit", minute: "2-digit" });
const OPEN = ["PENDING", "RUNNING", "RESUMED"];
const SHARE = new Intl.NumberFormat(undefined, { style: "percent", maximumFractionDigits: 1 });

/** How things stand; every figure leads to the list behind it. */
export function HomePage(): JSX.Element {
  const [search, setSearch] = useSearchParams();
  const isAdmin = useMay("admin");
  const isViewer = useMay("viewer");
  const hours = HOURS.find((each) => each === search.get("hours")) ?? "24";
  return (
    <>
      <PageHead title="Home">
        <select
          className="input"
          aria-label="How far back"
          value={hours}
          onChange={(event) => setSearch(event.target.value === "24" ? {} : { hours: event.target.value })}
        >
          {Object.entries(WINDOWS).map(([value, words]) => (
            <option key={value} value={value}>
              Last {words}
            </option>
          ))}
        </select>
      </PageHead>
      <Runs hours={Number(hours)} />
      <div className="home-columns">
        <Stuck />
        {isViewer && <Cost hours={Number(hours)} words={WINDOWS[hours]} />}
        {isAdmin && <Queues />}
      </div>
    </>
  );
}

function Runs({ hours }: { readonly hours: number }): JSX.Element {
  const { data, error, isPending, refetch } = useQuery(statisticsOptions(hours));
  const { data: pauses } = useInfiniteQuery(shownPausesOptions("all"));
  const isViewer = useMay("viewer");
  const { data: webhooks } = useQuery({ ...subscriptionsOptions, enabled: isViewer });
  const { data: connections } = useQuery({ ...brokenConnectionsOptions, enabled: isViewer });
  if (isPending) return <Loading what="figures" rows={4} />;
  if (data === undefined) return <Failure fault={toProblem(error)} retry={() => void refetch()} />;

  const { totals, failure_rate: rate, latency, live } = data;
  const since = { created_after: data.from };
  const underWay = live.filter(({ state }) => OPEN.includes(state));
  const running = underWay.reduce((sum, { runs }) => sum + runs, 0);
  const oldest = underWay.map(({ oldest_at }) => oldest_at).toSorted()[0];
  const waiting = pauses?.data ?? [];
  const failing = webhooks?.data.filter((each) => each.status === "disabled" || each.failing_since !== null) ?? [];
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
          to={links.runs(since)}
          note={latency.p95_ms === null ? "No run has ended" : `95 of 100 within ${duration(latency.p95_ms)}`}
        >
          {duration(latency.p50_ms)}
        </Figure>
        <Figure
          name="Wait for a decision"
          tone={waiting.length > 0 ? "wait" : undefined}
          to={links.inbox()}
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
            to={failing.length === 1 && failing[0] ? links.webhook(failing[0].subscription_id) : links.webhooks()}
            note={`of ${atLeast(webhooks?.data.length ?? 0, webhooks?.has_more)}`}
          >
            {failing.length}
          </Figure>
        )}
        {isViewer && (
          <Figure
            name="Broken connections"
            tone={broken.length > 0 ? "bad" : undefined}
            to={links.settings()}
            note={broken.length === 0 ? "All answer" : broken.map(({ name }) => name).join(", ")}
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
          states={["COMPLETED", "FAILED", "CANCELLED", "RUNNING"]}
          bars={data.buckets.map(({ start, completed, failed, cancelled, open }) => ({
            label: CLOCK.format(new Date(start)),
            counts: { COMPLETED: completed, FAILED: failed, CANCELLED: cancelled, RUNNING: open },
          }))}
        />
      </section>
    </>
  );
}

function Stuck(): JSX.Element {
  const { data, error, isPending, refetch } = useQuery(stuckOptions);
  const { data: projects } = useQuery(projectsOptions);
  const nameOf = (id: string): string =>
    projects?.data.find(({ project_id }) => project_id === id)?.name ?? shortId(id);
  return (
    <section className="stack-tight" aria-labelledby="stuck">
      <div className="spread">
        <h2 id="stuck">Stuck</h2>
        <Link to={links.runs({ stuck: "true" })}>All</Link>
      </div>
      {isPending && <Loading what="stuck runs" rows={2} />}
      {error !== null && <Failure fault={toProblem(error)} retry={() => void refetch()} />}
      {data?.data.length === 0 && (
        <div className="panel">
          <Empty title="Nothing is stuck">Every run under way makes progress, or waits for somebody.</Empty>
        </div>
      )}
      <ListChanges name="stuck" ids={data?.data.map(({ run_id }) => run_id)} />
      {data && data.data.length > 0 && (
        <div className="panel panel-flush">
          <Table
            caption="Stuck runs"
            rows={data.data}
            keyOf={(run) => run.run_id}
            columns={[
              {
                id: "run",
                head: "Run",
                cell: (run) => (
                  <Link to={links.run(run.run_id)} data-row>
                    {nameOf(run.project_id)} <code>{shortId(run.run_id)}</code>
                  </Link>
                ),
              },
              {
                id: "why",
                head: "Why",
                wideOnly: true,
                cell: (run) => (
                  <span className="wrap">{run.waiting_for?.reason ?? run.progress_data.current_node ?? "-"}</span>
                ),
              },
              {
                id: "since",
                head: "Since",
                cell: (run) => <Time at={run.waiting_for?.since ?? run.started_at ?? run.created_at} />,
              },
            ]}
          />
        </div>
      )}
    </section>
  );
}

function Cost({ hours, words }: { readonly hours: number; readonly words: string }): JSX.Element {
  const { data, error, isPending, refetch } = useQuery(modelCostOptions(hours));
  return (
    <section className="stack-tight" aria-labelledby="cost">
      <h2 id="cost">Models, last {words}</h2>
      {isPending && <Loading what="costs" rows={2} />}
      {error !== null && <Failure fault={toProblem(error)} retry={() => void refetch()} />}
      {data?.data.length === 0 && (
        <div className="panel">
          <Empty title="No model was asked">Calls of models, their tokens and their cost are summed here.</Empty>
        </div>
      )}
      {data && data.data.length > 0 && (
        <div className="panel panel-flush">
          <Table
            caption="Cost by model"
            rows={data.data}
            keyOf={(row) => row.key}
            columns={[
              { id: "model", head: "Model", cell: (row) => <span className="wrap">{row.key}</span> },
              { id: "calls", head: "Calls", number: true, cell: (row) => row.calls.toLocaleString() },
              { id: "tokens", head: "Tokens", number: true, cell: (row) => row.total_tokens.toLocaleString() },
              {
                id: "cost",
                head: "USD",
                number: true,
                cell: (row) => (row.calls_without_price === row.calls ? "-" : row.cost_usd.toFixed(4)),
              },
            ]}
          />
        </div>
      )}
    </section>
  );
}
