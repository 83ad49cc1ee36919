// Bare Temporal behind a bare Koa: the least that a durable HTTP call can cost. Arguments: api|worker, Temporal's address, port.
import { fileURLToPath } from "node:url";
import { Client } from "@temporalio/client";
import { bundleWorkflowCode, NativeConnection, Runtime, Worker } from "@temporalio/worker";
import Koa from "koa";

const [role, address = "", port = "0"] = process.argv.slice(2);
const RUNS = "twin-runs";
const ACTIVITIES = "twin-activities";
const quiet = () => undefined;
const silent = { log: quiet, trace: quiet, debug: quiet, info: quiet, warn: console.warn, error: console.error };

Runtime.install({ logger: silent });
const connection = await NativeConnection.connect({ address });
const activities = { nothing: (input: string) => Promise.resolve(input) };
if (role === "worker") {
  const worker = await Worker.create({ connection, taskQueue: ACTIVITIES, activities });
  console.log("ready");
  await worker.run();
} else {
  const workflowBundle = await bundleWorkflowCode({
    workflowsPath: fileURLToPath(new URL("./twin-workflows.js", import.meta.url)),
    logger: silent,
  });
  const worker = await Worker.create({ connection, taskQueue: RUNS, activities, workflowBundle });
  void worker.run();
  const client = new Client({ connection });
  let count = 0;
  const app = new Koa();
  app.use(async (ctx) => {
    const workflow = ctx.path.slice(1);
    count += 1;
    const handle = await client.workflow.start(workflow, {
      taskQueue: RUNS,
      workflowId: `${workflow}-${process.pid}-${count}`,
      args: [workflow === "threeRegular" ? { queue: ACTIVITIES } : "x"],
      requestEagerStart: true,
    });
    ctx.body = { result: (await handle.result()) as string };
  });
  app.listen(Number(port), "127.0.0.1", () => console.log("ready"));
}
