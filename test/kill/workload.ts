import { expect } from "vitest";
import { flow, openBench, type Bench } from "../engine/support.ts";
import { startHttpTarget, type HttpTarget } from "../support/http-target.ts";
import { historiesOf, replay, withTemporal } from "../support/histories.ts";
import { eventually } from "../support/scratch.ts";
import type { Installation } from "./installation.ts";
import { allKinds, ITEMS, longHttp, ROUNDS, type Kind } from "./kinds.ts";
import { noRefusals, postConstantly, postUntilAnswered, type Refusals } from "./persistent-client.ts";

/** The results of the workload, checked against the records. */
export interface Verdict {
  readonly runs: number;
  readonly nodes: number;
  /** Requests that nodes make if each is sent once, and the number of the ones that arrived more than once. */
  readonly requests: number;
  readonly repeated: number;
  readonly documents: number;
  /** Time from the last restart until all runs had finished (ms). */
  readonly recoveredMs: number;
  readonly refusals: Refusals;
}

export interface Workload {
  readonly bench: Bench;
  readonly target: HttpTarget;
  /** Resolves when every kind of run is doing its work. */
  underWay(): Promise<void>;
  /** Approves all pauses, waits until everything accepted has finished, and checks the results. */
  verdict(): Promise<Verdict>;
  close(): Promise<void>;
}

interface Started {
  readonly kind: Kind;
  readonly run_id: string;
}

/** About how long the runs last that cannot be held back (ms). */
const BRIEF_MS = 6000;
const DOCUMENTS = 3;
// Long enough that a worker is still reading it when the part is killed.
const TEXT = "All work and no play makes Jack a dull boy. ".repeat(20_000);
/** node_runs rows of the flows that are not listed in kinds.ts. */
const LONG_HTTP_NODES = 4;
const READER_NODES = 3;
const TRIVIAL_NODES = 3;
const trivial = flow(
  [
    { id: "in-0", type: "input" },
    { id: "tpl-0", type: "template", config: { template: "got {{in-0}}" } },
    { id: "out-0", type: "output" },
  ],
  ["in-0>tpl-0", "tpl-0>out-0"],
);
const reader = flow(
  [
    { id: "doc-0", type: "files" },
    {
      id: "tpl-0",
      type: "template",
      config: { template: "{% for d in doc-0.documents %}{{d.filename}}={{d.text | size}} {% endfor %}" },
    },
    { id: "out-0", type: "output" },
  ],
  ["doc-0>tpl-0", "tpl-0>out-0"],
);

/** Deploys and starts runs of every kind, clients that keep posting, and a slow upload. */
export async function startWorkload(installation: Installation): Promise<Workload> {
  const [bench, target] = await Promise.all([openBench(installation), startHttpTarget()]);
  const { api } = bench;
  // Requests beyond these counts wait for their gate, so that runs stay in progress even on a fast machine.
  const rush = gate();
  const end = gate();
  hold(target, "/loop", ROUNDS / 2, rush.opened);
  hold(target, "/map", ITEMS / 2, rush.opened);
  hold(target, "/slow", 0, end.opened);
  const slow = `${target.url}/slow`;
  const child = await bench.deploy(longHttp(slow).definition);
  const kinds = allKinds({ loop: `${target.url}/loop`, map: `${target.url}/map`, slow }, child);
  const [trivialId, readerId, ...projects] = await Promise.all([
    bench.deploy(trivial),
    bench.deploy(reader),
    ...kinds.map(({ definition }) => bench.deploy(definition)),
  ]);

  const started: Started[] = [];
  const start = async (name: string): Promise<Started> => {
    const at = kinds.findIndex((kind) => kind.name === name);
    const kind = kinds[at];
    if (!kind) throw new Error(`there is no kind ${name}`);
    const { run_id } = await bench.start(projects[at] ?? "", kind.inputs);
    const run = { kind, run_id };
    started.push(run);
    return run;
  };
  const first = ["map of 500", "short activities", "open approval", "open approval"];
  await Promise.all([...first, "long http", "long http", "sub-flow", "sub-flow"].map(start));
  const sync = noRefusals();
  const waited = postUntilAnswered(
    api,
    `/inference/v0/run/${bench.org_id}/${projects[kinds.findIndex(({ name }) => name === "long http")]}`,
    () => ({ "in-0": "waited" }),
    sync,
    { timeoutMs: 90_000 },
  );
  // Handled here to prevent an unhandled rejection; verdict() rejects with the failure.
  waited.catch(() => undefined);
  const posts = postConstantly(api, "/v2/runs", (n) => ({ project_id: trivialId, inputs: { "in-0": String(n) } }), 150);

  const upload = (body: () => unknown): ReturnType<typeof postUntilAnswered> =>
    postUntilAnswered(api, "/upload_to_storage_user", body, sync, {
      query: { org: bench.org_id, flow_id: readerId ?? "", user_id: "ada-1" },
    });
  let uploads: Array<ReturnType<typeof postUntilAnswered>> = [];
  let reading: string | undefined;

  async function areUnderWay(runs: readonly Started[]): Promise<boolean> {
    for (const { kind, run_id } of runs) {
      const [row] = await installation.sql<{ hit: boolean | null }>(
        `select ${kind.underWay} as hit from node_runs n join runs r using (run_id) where r.run_id = $1 or r.parent_run_id = $1`,
        [run_id],
      );
      if (row?.hit !== true) return false;
    }
    return true;
  }

  const live = (): Promise<unknown[]> =>
    installation.sql(
      `select run_id, state, current_node, temporal_run_id, check_at, updated_at, now(), (select json_object_agg(n.state, n.n) from
        (select state, count(*) as n from node_runs n where n.run_id = r.run_id group by state) as n) as nodes
       from runs r where org_id = $1 and state not in ('COMPLETED', 'FAILED', 'CANCELLED')`,
      [bench.org_id],
    );

  return {
    bench,
    target,
    async underWay() {
      const held = [...started];
      await eventually("all that can be held is under way", () => areUnderWay(held));
      // These runs cannot be held back, so they start last; again if one ends before the others have started.
      await eventually("every kind is under way", async () => {
        const brief = await Promise.all(["delay", "delay", "code"].map(start));
        return eventually("all", () => areUnderWay([...held, ...brief]), BRIEF_MS).catch(() => false);
      });
      rush.open();
      uploads = Array.from({ length: DOCUMENTS }, (_, n) => upload(() => form(`doc-${n}.txt`, TEXT)));
      for (const each of uploads) each.catch(() => undefined);
      await uploads[0];
      ({ run_id: reading } = await bench.start(readerId ?? "", {}, { user_id: "ada-1" }));
    },
    async verdict() {
      const since = Date.now();
      end.open();
      const { answers, refusals } = await posts.stop();
      for (const answer of answers) expect(answer.status, JSON.stringify(answer.body)).toBe(201);
      const stored = await Promise.all(uploads);
      for (const answer of stored) expect(answer.status, JSON.stringify(answer.body)).toBe(200);
      for (const { kind, run_id } of started) if (kind.name === "open approval") await approve(run_id);
      expect((await waited).body).toMatchObject({ state: "COMPLETED", outputs: { "out-0": "200 waited" } });

      await eventually("every run has ended", async () => (await live()).length === 0, 60_000).catch(
        async (error: Error) => {
          throw new Error(`${error.message}: ${JSON.stringify(await live(), undefined, 1)}`);
        },
      );
      const recoveredMs = Date.now() - since;

      for (const { kind, run_id } of started) {
        const { body: run } = await api.get(`/v2/runs/${run_id}`);
        expect({ kind: kind.name, state: run.state, outputs: run.outputs, error: run.error }).toEqual({
          kind: kind.name,
          state: "COMPLETED",
          outputs: kind.outputs,
          error: null,
        });
      }
      for (const [n, { body }] of answers.entries()) {
        const { body: run } = await api.get(`/v2/runs/${body.run_id}`);
        expect(run).toMatchObject({ state: "COMPLETED", outputs: { "out-0": `got ${n}` } });
      }
      return { ...(await checkRecords()), refusals: merge(refusals, sync), recoveredMs };
    },
    close: () => target.close(),
  };

  async function approve(runId: string): Promise<void> {
    const { body, status } = await postUntilAnswered(
      api,
      `/v2/runs/${runId}/resume`,
      () => ({ action: "approve", data: { note: "gladly" } }),
      sync,
    );
    expect(status, JSON.stringify(body)).toBe(202);
  }

  /** Checks that runs, nodes, events and outbox rows were written once, and that requests were sent once as far as possible. */
  async function checkRecords(): Promise<Pick<Verdict, "runs" | "nodes" | "requests" | "repeated" | "documents">> {
    const sql = <Row>(statement: string): Promise<Row[]> => installation.sql<Row>(statement, [bench.org_id]);
    const [runs] = await sql<{ all: number; completed: number; children: number }>(
      `select count(*)::integer as all, count(*) filter (where state = 'COMPLETED')::integer as completed, count(parent_run_id)::integer as children
       from runs where org_id = $1`,
    );
    const others = await sql("select * from runs where org_id = $1 and state <> 'COMPLETED'");
    expect(runs?.completed, JSON.stringify(others)).toBe(runs?.all);
    // Posts with one key create one run, and a subflow node one child run, however often they were retried.
    expect(runs?.children).toBe(started.filter(({ kind }) => kind.name === "sub-flow").length);

    const nodes = await sql<{ state: string; n: number }>(
      "select state, count(*)::integer as n from node_runs where org_id = $1 group by state",
    );
    const expected = started.reduce((sum, { kind }) => sum + kind.nodes, LONG_HTTP_NODES + READER_NODES);
    const trivials = (runs?.all ?? 0) - started.length - (runs?.children ?? 0) - 2;
    expect(Object.fromEntries(nodes.map(({ state, n }) => [state, n]))).toEqual({
      COMPLETED: expected + trivials * TRIVIAL_NODES,
      // The inactive branch after each approval.
      SKIPPED: started.filter(({ kind }) => kind.name === "open approval").length,
    });

    const twice = await sql(
      `select run_id, data->>'path' as what, count(*) from run_events where org_id = $1 and type = 'node.finished' group by 1, 2 having count(*) > 1
       union all select run_id, type, count(*) from run_events where org_id = $1 and type = 'run.finished' group by 1, 2 having count(*) > 1
       union all select (data->>'run_id')::uuid, type, count(*) from outbox where org_id = $1 and type = 'run.completed' group by 1, 2 having count(*) > 1`,
    );
    expect(twice).toEqual([]);
    const gaps = await sql(
      `select run_id from run_events e join runs using (run_id) where e.org_id = $1 group by run_id, event_seq
       having count(*) <> event_seq or min(seq) <> 1 or max(seq) <> event_seq`,
    );
    expect(gaps).toEqual([]);

    // Every request carries its node's key, by which the receiver counts repetitions.
    const paths = await sql<{ key: string }>(
      "select run_id || ':' || path as key from node_runs where org_id = $1 and type = 'http'",
    );
    expect(new Set(target.counts().keys())).toEqual(new Set(paths.map(({ key }) => key)));
    const requests = started.reduce((sum, { kind }) => sum + kind.requests, 1);
    expect(target.counts().size).toBe(requests);
    const repeated = [...target.counts().values()].filter((n) => n > 1).length;

    const documents = await sql<{ status: string; n: number }>(
      "select status, count(*)::integer as n from documents where org_id = $1 group by status",
    );
    expect(documents).toEqual([{ status: "indexed", n: DOCUMENTS }]);
    const { body } = await api.get(`/v2/runs/${reading}`);
    expect(body.outputs["out-0"]).toContain(`doc-0.txt=${TEXT.length} `);

    const unfit = await withTemporal(installation.temporalAddress, async (client) => {
      const histories = await Promise.all(started.map(({ run_id }) => historiesOf(client, run_id)));
      return replay(histories.flat());
    });
    expect(unfit).toEqual({});
    const done = nodes.find(({ state }) => state === "COMPLETED");
    return { runs: runs?.all ?? 0, nodes: done?.n ?? 0, requests, repeated, documents: DOCUMENTS };
  }
}

interface Gate {
  readonly opened: Promise<void>;
  open(): void;
}

function gate(): Gate {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}

/** Echoes requests to a path; those beyond `free` are answered when the gate opens. */
function hold(target: HttpTarget, path: string, free: number, opened: Promise<void>): void {
  target.on(path, async ({ body }, response) => {
    if (target.hits(path) > free) await opened;
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ body }));
  });
}

function form(name: string, text: string): FormData {
  const data = new FormData();
  data.set("file", new File([text], name, { type: "text/plain" }));
  return data;
}

function merge(one: Refusals, other: Refusals): Refusals {
  const counts = new Map(one.counts);
  for (const [status, n] of other.counts) counts.set(status, (counts.get(status) ?? 0) + n);
  return {
    counts,
    withoutRetryAfter: one.withoutRetryAfter + other.withoutRetryAfter,
    slowest: Math.max(one.slowest, other.slowest),
  };
}
