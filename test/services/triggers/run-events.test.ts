import { uuidv7 } from "uuidv7";
import { expect, it } from "vitest";
import { queueRunEvents } from "../../../src/services/triggers/run-events.ts";
import { echo, openTenant } from "../../api/tenant.ts";

it("lets a trigger fire for ends of runs since there is the trigger", async () => {
  const tenant = await openTenant();
  const project_id = await tenant.deploy(echo());
  const { body: trigger } = await tenant.secret.post("/v2/triggers", {
    project_id,
    provider_id: "millrace",
    trigger_id: "run_event",
    config: { project_id: await tenant.deploy(echo()) },
    inputs: { "in-0": "payload.state" },
  });
  const created = Date.parse(trigger.created_at);
  const end = (ms: number) => ({
    event_id: uuidv7(),
    org_id: tenant.org_id,
    type: "run.completed",
    project_id: trigger.config.project_id,
    data: { run_id: uuidv7(), run_type: "api", state: "COMPLETED", outputs: {} },
    occurred_at: new Date(created + ms).toISOString(),
  });
  const [before, after] = [end(-60_000), end(60_000)];
  await tenant.withDatabase(async (database) => {
    expect(await database.system((db) => queueRunEvents(db, [before]))).toBe(false);
    expect(await database.system((db) => queueRunEvents(db, [before, after]))).toBe(true);
    const text = "select key from trigger_firings where trigger_id = $1";
    expect(await database.system((db) => db.query(text, [trigger.id]))).toEqual([{ key: after.event_id }]);
  });
});
