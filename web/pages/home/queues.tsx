import { useQuery } from "@tanstack/react-query";
import type { JSX } from "react";
import { Link } from "react-router";
import { useMay } from "../../api/accounts.ts";
import type { Schemas } from "../../api/client.ts";
import { queuesOptions } from "../../api/system.ts";
import { links } from "../../links.ts";
import { Fetched } from "../../parts/list/fetched.tsx";
import { Table } from "../../parts/table.tsx";
import { duration } from "../../parts/time.tsx";
import { Figure } from "./figure.tsx";

type QueueName = Schemas["TaskQueue"]["queue"];

/** What each queue is for, and the list of the items that wait in it, if there is one. */
const PLACES: Readonly<Record<QueueName, readonly [name: string, to?: string]>> = {
  runs: ["Runs", links.runs({ state: ["PENDING", "RUNNING", "RESUMED"] })],
  nodes: ["Nodes", links.runs({ state: "RUNNING" })],
  ingest: ["Documents", links.background()],
  background: ["Syncs, experiments, bulk run jobs", links.background()],
  webhooks: ["Webhooks", links.webhooks()],
  house: ["Erasures, expired data"],
};
/** A task that waits longer than this (s) deserves attention. */
const LONG_SECONDS = 30;

interface QueueState {
  readonly queue: QueueName;
  readonly workers: number;
  readonly backlog: number | null;
  readonly age: number | null;
}

/** Merges both parts of a queue; it stands still if workflows or activities have no worker. */
function byQueue(parts: ReadonlyArray<Schemas["TaskQueue"]>): QueueState[] {
  const names = [...new Set(parts.map(({ queue }) => queue))];
  return names.map((queue) => {
    const own = parts.filter((each) => each.queue === queue);
    const told = own.flatMap(({ backlog }) => (backlog === null ? [] : [backlog]));
    const ages = own.flatMap(({ backlog_age_seconds: age }) => (age === null ? [] : [age]));
    return {
      queue,
      workers: Math.min(...own.map(({ workers }) => workers)),
      backlog: told.length === 0 ? null : told.reduce((sum, each) => sum + each, 0),
      age: ages.length === 0 ? null : Math.max(...ages),
    };
  });
}

/** Tasks that wait for workers, over all queues. */
export function QueueFigure(): JSX.Element | null {
  const isAdmin = useMay("admin");
  const { data } = useQuery({ ...queuesOptions, enabled: isAdmin });
  if (!isAdmin || !data) return null;
  const queues = byQueue(data.queues);
  const still = queues.filter(({ workers }) => workers === 0);
  const waiting = queues.reduce((sum, { backlog }) => sum + (backlog ?? 0), 0);
  const oldest = Math.max(0, ...queues.map(({ age }) => age ?? 0));
  const note =
    still.length > 0 ? `No workers: ${still.map(({ queue }) => queue).join(", ")}` : `Oldest: ${age(oldest)}`;
  return (
    <Figure
      name="Waiting for a worker"
      to={`${links.home()}#queues`}
      tone={still.length > 0 ? "bad" : oldest > LONG_SECONDS ? "warn" : undefined}
      note={waiting === 0 && still.length === 0 ? "Every queue has workers" : note}
    >
      {waiting.toLocaleString()}
    </Figure>
  );
}

const age = (seconds: number | null): string => (seconds === null ? "-" : duration(seconds * 1000));

/** The task queues of the installation, which all organisations share. */
export function Queues(): JSX.Element {
  const queues = useQuery(queuesOptions);
  return (
    <section className="stack-tight" aria-labelledby="queues">
      <h2 id="queues">Queues and workers</h2>
      <Fetched query={queues} what="queues" rows={5}>
        {(data) => (
          <Table
            caption="Queues"
            rows={byQueue(data.queues)}
            keyOf={({ queue }) => queue}
            columns={[
              { id: "queue", head: "Queue", cell: ({ queue }) => <Place queue={queue} /> },
              {
                id: "backlog",
                head: "Waiting",
                number: true,
                cell: ({ backlog }) => backlog?.toLocaleString() ?? "-",
              },
              {
                id: "age",
                head: "Oldest",
                number: true,
                cell: (each) => (each.backlog === 0 ? "-" : age(each.age)),
              },
              {
                id: "workers",
                head: "Workers",
                number: true,
                cell: ({ workers }) => (workers === 0 ? <strong className="field-error">None</strong> : workers),
              },
            ]}
          />
        )}
      </Fetched>
    </section>
  );
}

function Place({ queue }: { readonly queue: QueueName }): JSX.Element {
  const [name, to] = PLACES[queue];
  if (to === undefined) return <>{name}</>;
  return (
    <Link to={to} data-row>
      {name}
    </Link>
  );
}
