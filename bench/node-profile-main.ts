// npm run bench:node: the time that the steps of an http node take, compared with the same request and row in bare Temporal. The events of
// the histories and the requests at the target, on one clock, show where each millisecond is spent.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Client, Connection } from "@temporalio/client";
import { httpFlow } from "./flows.ts";
import { latencies, median } from "./measure.ts";
import { openStage, request } from "./stage.ts";

const RUNS = 60;
const ROUNDS = 3;
const NODES = 3;
/** EVENT_TYPE_* of Temporal's API. */
const TYPE = { stepStarted: 6, stepCompleted: 7, scheduled: 10, started: 11, completed: 12 } as const;
/** The spans of a node, in their order. */
const SPANS = [
  "Temporal, until a worker has the activity",
  "the worker, until the target has the request",
  "the target, until it has answered",
  "the worker, until the row is written and the end reported",
  "Temporal, until the workflow has its next step",
  "the step of the workflow, until Temporal has its commands",
] as const;

/** When the target got each request, and when it had responded (ms since 1970). */
const visits: Array<{ readonly at: number; answered: number }> = [];
const now = (): number => performance.timeOrigin + performance.now();
const target = createServer((_incoming, response) => {
  const visit = { at: now(), answered: 0 };
  visits.push(visit);
  response.setHeader("content-type", "application/json").end('{"ok":true}', () => (visit.answered = now()));
});
await new Promise<void>((resolve) => target.listen(0, "127.0.0.1", resolve));
const url = `http://127.0.0.1:${(target.address() as AddressInfo).port}`;

const stage = await openStage({ durable: false });
const connection = await Connection.connect({ address: stage.temporalAddress });
try {
  const client = new Client({ connection });
  await stage.twin("worker");
  const twin = await stage.twin("api", url);
  const [api] = await Promise.all([stage.api(), stage.worker()]);
  const flow = await stage.deploy(api, httpFlow(url));
  const run = stage.call(api, flow, {});
  const contenders = [
    {
      name: "bare",
      async call() {
        const { workflow_id } = (await request(`${twin.url}/threeRequests`, null)) as { workflow_id: string };
        return workflow_id;
      },
    },
    {
      name: "http flow",
      async call() {
        const { run_id } = (await run()) as { run_id: string };
        return `run-${run_id}`;
      },
    },
  ].map((each) => ({ ...each, times: [] as number[], spans: SPANS.map((): number[] => []) }));
  for (const { call } of contenders) await latencies(call, RUNS);
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const { call, times, spans } of contenders) {
      visits.length = 0;
      const ids: string[] = [];
      times.push(...(await latencies(async () => ids.push(await call()), RUNS)));
      for (const [at, id] of ids.entries()) {
        const nodes = await nodesOf(client, id, visits.slice(at * NODES, (at + 1) * NODES));
        for (const node of nodes) for (const [place, span] of spans.entries()) span.push(node[place] ?? Number.NaN);
      }
    }
  }
  const columns = contenders.map(({ spans }) => spans.map(median));
  const row = (what: string, figures: readonly number[]): void =>
    console.log(`| ${what} | ${figures.map((ms) => ms.toFixed(1)).join(" | ")} |`);
  console.log(`| each of three nodes, p50 ms | ${contenders.map(({ name }) => name).join(" | ")} |`);
  console.log("| --- | ---: | ---: |");
  for (const [place, span] of SPANS.entries())
    row(
      span,
      columns.map((column) => column[place] ?? Number.NaN),
    );
  row(
    "the node",
    columns.map((column) => column.reduce((all, ms) => all + ms, 0)),
  );
  row(
    "the run",
    contenders.map(({ times }) => median(times)),
  );
} finally {
  await connection.close();
  await stage.close();
  target.close();
}

/** How long each span of each node of a run took. */
async function nodesOf(client: Client, workflowId: string, seen: typeof visits): Promise<number[][]> {
  const { events } = await client.workflow.getHandle(workflowId).fetchHistory();
  const history = (events ?? []).map(({ eventType, eventTime }) => ({
    type: Number(eventType),
    at: Number(eventTime?.seconds ?? 0) * 1000 + (eventTime?.nanos ?? 0) / 1e6,
  }));
  const starts = [...history.keys()].filter((at) => history[at]?.type === TYPE.scheduled);
  return starts.map((start, node) => {
    const next = (type: number): number => history.slice(start).find((event) => event.type === type)?.at ?? Number.NaN;
    const { at = Number.NaN, answered = Number.NaN } = seen[node] ?? {};
    const times = [next(TYPE.scheduled), next(TYPE.started), at, answered];
    times.push(next(TYPE.completed), next(TYPE.stepStarted), next(TYPE.stepCompleted));
    return SPANS.map((_, place) => (times[place + 1] ?? Number.NaN) - (times[place] ?? Number.NaN));
  });
}
