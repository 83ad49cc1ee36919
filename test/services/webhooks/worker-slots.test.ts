import { randomBytes } from "node:crypto";
import { fileURLToPath } from "node:url";
import { Worker } from "@temporalio/worker";
import { expect, inject, it } from "vitest";
import { loadConfig } from "../../../src/config.ts";
import { connectTemporal } from "../../../src/temporal/connection.ts";
import { taskQueues } from "../../../src/temporal/ids.ts";
import { createWorker, runWorkers } from "../../../src/temporal/workers.ts";
import { dataConverter } from "../../support/payloads.ts";

it("a worker that owns every shard keeps polling, so that its queue is not considered abandoned", async () => {
  const prefix = `test-${randomBytes(6).toString("hex")}`;
  const config = loadConfig({
    DATABASE_URL: "postgres://unused",
    TEMPORAL_ADDRESS: inject("millrace").temporalAddress,
    MILLRACE_TASK_QUEUE: prefix,
    MILLRACE_WEBHOOK_SHARDS: "1",
    MILLRACE_SHUTDOWN_GRACE_MS: "0",
  });
  const temporal = await connectTemporal(config, dataConverter);
  const owned: number[] = [];
  let release = (): void => undefined;
  const released = new Promise<{ retired: true }>((resolve) => (release = () => resolve({ retired: true })));
  const deliverShard = ({ shard }: { shard: number }): Promise<{ retired: true }> => {
    owned.push(shard);
    return released;
  };
  const queues = taskQueues(prefix);
  const workers = runWorkers([
    await Worker.create({
      connection: temporal.connection,
      dataConverter,
      taskQueue: queues.background,
      workflowBundle: { codePath: fileURLToPath(new URL("../../../dist/workflow-bundle.js", import.meta.url)) },
    }),
    await createWorker("webhooks", config, temporal, { activities: { deliverShard } }),
  ]);
  const start = (shard: number) =>
    temporal.client.workflow.start("deliverWebhooks", {
      args: [{ shard, activity_queue: queues.webhooks }],
      taskQueue: queues.background,
      workflowId: `${prefix}-${shard}`,
    });
  const [one, another] = [await start(0), await start(1)];
  // Although one shard occupies an activity, the worker still polls for others.
  await expect.poll(() => owned.toSorted()).toEqual([0, 1]);
  release();
  await Promise.all([one.result(), another.result()]);
  await workers.stop();
  await temporal.close();
});
