import { Client, Connection } from "@temporalio/client";
import { inject, expect, it, onTestFinished } from "vitest";
import { forceCancel } from "../../../src/services/runs/settle-run.ts";
import { openDatabase } from "../../../src/stores/db.ts";
import { openRunFeed } from "../../../src/stores/runs/run-feed.ts";
import { getRun } from "../../../src/stores/runs/runs.ts";
import { runWorkflowId } from "../../../src/temporal/ids.ts";
import { createRunStarter } from "../../../src/temporal/runs.ts";
import { cloneDatabase } from "../../support/database.ts";
import { buildRun, buildTenant } from "../../stores/rows.ts";
import { dataConverter } from "../../support/payloads.ts";

it("a forced cancel terminates the workflows of all child runs, even without a worker to receive it", async () => {
  const clone = await cloneDatabase();
  const db = openDatabase({ url: clone.url, poolSize: 2, applicationName: "test", onError: () => undefined });
  const feed = openRunFeed(db, () => undefined);
  const connection = await Connection.connect({ address: inject("millrace").temporalAddress });
  onTestFinished(async () => {
    await Promise.all([feed.close(), connection.close()]);
    await db.close();
    await clone.drop();
  });
  const client = new Client({ connection, dataConverter });
  const starter = createRunStarter({ client, taskQueuePrefix: "nobody-polls", eager: () => false });

  const tenant = await buildTenant(db);
  const parent = await buildRun(db, tenant);
  const child = await buildRun(db, tenant, { parent_run_id: parent, run_type: "sub_workflow" });
  const grandchild = await buildRun(db, tenant, { parent_run_id: child, run_type: "sub_workflow" });
  const runs = [parent, child, grandchild];
  const plan = { nodes: [], edges: [], settings: {} };
  for (const run_id of runs) {
    const input = {
      ...tenant,
      run_id,
      flow_version: 1,
      user_id: null,
      metadata: {},
      inputs: {},
      timeout_seconds: 60,
      limits: { max_iterations: 10 },
      depth: 0,
      plan,
    };
    await starter.start(input, { urgency: "later" });
  }

  const observer = { recorded: () => undefined };
  await forceCancel({ db, starter, feed, observer }, tenant.org_id, parent, "enough");
  for (const run_id of runs) {
    expect(await db.system((each) => getRun(each, run_id))).toMatchObject({
      state: "CANCELLED",
      state_reason: "enough",
    });
    const { status } = await client.workflow.getHandle(runWorkflowId(run_id)).describe();
    expect(status.name).toBe("TERMINATED");
  }
});
