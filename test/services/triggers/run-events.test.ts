import { uuidv7 } from "uuidv7";
import { expect, it } from "vitest";
import { queueRunEvents } from "../../../src/services/triggers/run-events.ts";
import { echo, openTenant } from "../../api/tenant.ts";

it("a trigger fires only for runs that finished after its creation", async () => {
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

it("cross-tenant: a trigger never fires for another organisation's run, in whatever batch it comes", async () => {
  const [mine, theirs] = await Promise.all([openTenant(), openTenant()]);
  const ofAny = async (tenant: typeof mine): Promise<string> => {
    const { body } = await tenant.secret.post("/v2/triggers", {
      project_id: await tenant.deploy(echo()),
      provider_id: "millrace",
      trigger_id: "run_event",
      config: { project_id: null },
      inputs: { "in-0": "payload.state" },
    });
    return body.id;
  };
  const [own, foreign] = [await ofAny(mine), await ofAny(theirs)];
  const ends = [mine, theirs].map(({ org_id }) => ({
    event_id: uuidv7(),
    org_id,
    type: "run.completed",
    project_id: uuidv7(),
    data: { run_id: uuidv7(), run_type: "api", state: "COMPLETED", outputs: {} },
    occurred_at: new Date(Date.now() + 60_000).toISOString(),
  }));
  await mine.withDatabase(async (database) => {
    expect(await database.system((db) => queueRunEvents(db, ends))).toBe(true);
    const text = "select trigger_id, org_id, key from trigger_firings where trigger_id = any ($1::uuid[])";
    const found = await database.system((db) => db.query(text, [[own, foreign]]));
    const of = (trigger_id: string, at: 0 | 1) => ({ trigger_id, org_id: ends[at]?.org_id, key: ends[at]?.event_id });
    expect(found).toHaveLength(2);
    expect(found).toEqual(expect.arrayContaining([of(own, 0), of(foreign, 1)]));
  });
});
