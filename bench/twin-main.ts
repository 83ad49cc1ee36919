// Bare Temporal behind a bare Koa: the minimum cost of a durable HTTP call. Arguments: api|worker, Temporal's address, port, the database's
// URL, and the URL that requests go to.
import { join } from "node:path";
import { Context } from "@temporalio/activity";
import { Client } from "@temporalio/client";
import { bundleWorkflowCode, NativeConnection, Runtime, Worker } from "@temporalio/worker";
import Koa from "koa";
import { Pool } from "pg";
import * as undici from "undici";
import { PACKAGE_ROOT } from "../src/dev/package-root.ts";

const [role, address = "", port = "0", connectionString = "", target = ""] = process.argv.slice(2);
const RUNS = "twin-runs";
const ACTIVITIES = "twin-activities";
const quiet = () => undefined;
const silent = { log: quiet, trace: quiet, debug: quiet, info: quiet, warn: console.warn, error: console.error };

Runtime.install({ logger: silent });
const connection = await NativeConnection.connect({ address });
const pool = new Pool({ connectionString });
const write = (run: string, step: number, value: unknown): Promise<unknown> =>
  pool.query({
    name: "write",
    text: "insert into twin_rows (run, step, value) values ($1, $2, $3) on conflict (run, step) do update set value = excluded.value",
    values: [run, step, JSON.stringify(value)],
  });
const activities = {
  nothing: (input: string) => Promise.resolve(input),
  async request({ url, step }: { url: string; step: number }) {
    const { body } = await undici.request(url);
    const text = await body.text();
    await write(Context.current().info.workflowExecution?.workflowId ?? "", step, text);
    return text;
  },
  async requests({ url, count }: { url: string; count: number }) {
    for (let step = 0; step < count; step += 1) await activities.request({ url, step });
    return "x";
  },
};
if (role === "worker") {
  const worker = await Worker.create({ connection, taskQueue: ACTIVITIES, activities });
  console.log("ready");
  await worker.run();
} else {
  const workflowBundle = await bundleWorkflowCode({
    workflowsPath: join(PACKAGE_ROOT, "bench/twin-workflows.ts"),
    logger: silent,
  });
  const worker = await Worker.create({ connection, taskQueue: RUNS, activities, workflowBundle });
  void worker.run();
  const client = new Client({ connection });
  await pool.query("create table if not exists twin_rows (run text, step int, value jsonb, primary key (run, step))");
  /** The workflows by path; `recorded` writes a row before and after. */
  const contenders: Readonly<Record<string, { workflow: string; input: unknown; recorded?: true }>> = {
    empty: { workflow: "empty", input: "x" },
    emptyRecorded: { workflow: "empty", input: "x", recorded: true },
    threeLocal: { workflow: "threeLocal", input: "x" },
    threeRegular: { workflow: "threeRegular", input: { queue: ACTIVITIES } },
    threeLocalRequests: { workflow: "threeLocalRequests", input: { url: target }, recorded: true },
    chainedRequests: { workflow: "chainedRequests", input: { queue: ACTIVITIES, url: target }, recorded: true },
    threeRequests: { workflow: "threeRequests", input: { queue: ACTIVITIES, url: target }, recorded: true },
  };
  let count = 0;
  const app = new Koa();
  app.use(async (ctx) => {
    const contender = contenders[ctx.path.slice(1)];
    if (!contender) return;
    const { workflow, input, recorded } = contender;
    count += 1;
    const workflowId = `${workflow}-${process.pid}-${count}`;
    if (recorded) await write(workflowId, -1, "RUNNING");
    const handle = await client.workflow.start(workflow, {
      taskQueue: RUNS,
      workflowId,
      args: [input],
      requestEagerStart: true,
    });
    const result = (await handle.result()) as string;
    if (recorded) await write(workflowId, -1, "COMPLETED");
    ctx.body = { result, workflow_id: workflowId };
  });
  app.listen(Number(port), "127.0.0.1", () => console.log("ready"));
}
