import { uuidv7 } from "uuidv7";
import { beforeAll, expect, it } from "vitest";
import { monitorSchedules } from "../../../src/services/evals/monitor-schedules.ts";
import { syncSchedules } from "../../../src/services/knowledge/schedule.ts";
import { applySchedule } from "../../../src/services/schedules/apply.ts";
import { compareSchedules } from "../../../src/services/schedules/compare.ts";
import { triggerSchedules } from "../../../src/services/triggers/schedules.ts";
import { monitorScheduleId, syncScheduleId, triggerScheduleId } from "../../../src/temporal/ids.ts";
import { createSchedules, ScheduleRefused, type Schedule } from "../../../src/temporal/schedules.ts";
import { echo, openTenant, type ApiTenant } from "../../api/tenant.ts";
import { withTemporal } from "../../support/histories.ts";

let tenant: ApiTenant;
let project_id: string;
beforeAll(async () => {
  tenant = await openTenant();
  project_id = await tenant.deploy(echo());
});

async function made(path: string, body: object): Promise<Record<string, string>> {
  const answer = await tenant.secret.post(path, body);
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  return answer.body;
}
const trigger = async (more: object = {}): Promise<string> => {
  const what = {
    project_id,
    provider_id: "millrace",
    trigger_id: "schedule",
    config: { cron: "@yearly" },
    inputs: { "in-0": "'x'" },
  };
  return (await made("/v2/triggers", { ...what, ...more }))["id"] ?? "";
};
const inTemporal = <T>(work: Parameters<typeof withTemporal<T>>[1]): Promise<T> =>
  withTemporal(tenant.target.temporalAddress, work);

it("schedules are restored after Temporal lost or changed them, and orphaned ones are removed", async () => {
  const enabled = await trigger();
  const paused = await trigger({ enabled: false });
  const base = await made("/v2/knowledge-bases", {
    name: "kept",
    indexing_params: { embedding_params: { embedding_model: null } },
    sync: { schedule_cron: "0 0 1 1 *" },
  });
  const evaluator = await made("/v2/evals/evaluators", { name: "fine", type: "error_free", config: {} });
  const monitor = await made("/v2/evals/monitors", {
    name: "watch",
    project_id,
    evaluator_ids: [evaluator["evaluator_id"]],
    sampling_rate: 0,
  });
  const ids = [
    triggerScheduleId(enabled),
    syncScheduleId(base["knowledge_base_id"] ?? ""),
    monitorScheduleId(monitor["monitor_id"] ?? ""),
  ];
  await inTemporal(async ({ schedule }) => {
    const before = await schedule.getHandle(triggerScheduleId(enabled)).describe();
    const queue = before.action.taskQueue;
    const stranger = (taskQueue: string) =>
      schedule.create({
        scheduleId: triggerScheduleId(uuidv7()),
        spec: { intervals: [{ every: "1000 days" }] },
        action: { type: "startWorkflow", workflowType: "pollTrigger", taskQueue, args: [] },
      });
    const orphan = await stranger(queue);
    const foreign = await stranger("another-installation");
    for (const id of ids) await schedule.getHandle(id).delete();
    // As if changed by hand or restored from an older backup.
    const other = schedule.getHandle(triggerScheduleId(paused));
    await other.unpause();
    for (const id of ids)
      await expect
        .poll(async () =>
          schedule
            .getHandle(id)
            .describe()
            .then(
              () => "there",
              () => "gone",
            ),
        )
        .toBe("there");
    const { spec, action } = await schedule.getHandle(triggerScheduleId(enabled)).describe();
    expect([spec, action]).toEqual([before.spec, before.action]);
    await expect.poll(async () => (await other.describe()).state.paused).toBe(true);
    const isThere = (handle: typeof orphan): Promise<boolean> =>
      handle.describe().then(
        () => true,
        () => false,
      );
    await expect.poll(() => isThere(orphan)).toBe(false);
    expect(await isThere(foreign)).toBe(true);
    await foreign.delete();
    // The number that `millrace doctor` reports.
    const MILLRACE_TASK_QUEUE = queue.replace(/-runs$/, "");
    const schedules = createSchedules({ schedule } as Parameters<typeof createSchedules>[0], MILLRACE_TASK_QUEUE);
    const kinds = [triggerSchedules({ MILLRACE_TASK_QUEUE, MILLRACE_MIN_SCHEDULE_SECONDS: 1 })];
    await tenant.withDatabase(async (db) => {
      const differing = async (): Promise<string[]> =>
        (await compareSchedules({ db, schedules }, kinds, { renews: true, now: Date.now() })).missing.map(
          ({ id }) => id,
        );
      await expect.poll(differing).not.toContain(enabled);
      await expect.poll(differing).not.toContain(paused);
    });
  });
});

it("schedules match the last change even if two processes apply changes at the same time, without a row lock", async () => {
  const id = await trigger();
  const owner = { org_id: tenant.org_id, id };
  const told: Schedule[] = [];
  const slow = {
    async put(schedule: Schedule) {
      // While Temporal receives the first schedule, the trigger is changed, and another process applies that.
      const change = { config: { cron: "@daily" } };
      if (told.length === 0) expect((await tenant.secret.patch(`/v2/triggers/${id}`, change)).status).toBe(200);
      told.push(schedule);
    },
  } as unknown as ReturnType<typeof createSchedules>;
  await tenant.withDatabase((db) =>
    applySchedule(
      { db, schedules: slow },
      triggerSchedules({ MILLRACE_TASK_QUEUE: "q", MILLRACE_MIN_SCHEDULE_SECONDS: 1 }),
      owner,
    ),
  );
  expect(told.map(({ at }) => at)).toMatchObject([{ cron: "@yearly" }, { cron: "@daily" }]);
});

it("schedules that Temporal refuses are tried once, for every kind of owner, and the reason is shown", async () => {
  const evaluator = await made("/v2/evals/evaluators", { name: "fine", type: "error_free", config: {} });
  const monitor = await made("/v2/evals/monitors", {
    name: "refused",
    project_id,
    evaluator_ids: [evaluator["evaluator_id"]],
    sampling_rate: 0,
  });
  const base = await made("/v2/knowledge-bases", {
    name: "refused",
    indexing_params: { embedding_params: { embedding_model: null } },
    sync: { schedule_cron: "0 0 1 1 *" },
  });
  const [monitorId, baseId] = [monitor["monitor_id"] ?? "", base["knowledge_base_id"] ?? ""];
  const config = { MILLRACE_TASK_QUEUE: "q", MILLRACE_MONITOR_INTERVAL_SECONDS: 60 };
  const removed: string[] = [];
  const refusing = {
    put: () => Promise.reject(new ScheduleRefused("Temporal rejected the schedule: no such time")),
    remove: async (id: string) => void removed.push(id),
  } as unknown as ReturnType<typeof createSchedules>;
  const FIRST = "00000000-0000-0000-0000-000000000000";
  await tenant.withDatabase(async (db) => {
    for (const [kind, id] of [
      [monitorSchedules(config), monitorId],
      [syncSchedules(config), baseId],
    ] as const) {
      await applySchedule({ db, schedules: refusing }, kind, { org_id: tenant.org_id, id });
      expect(removed.at(-1)).toBe(kind.prefix + id);
      const has = async (rows: Promise<ReadonlyArray<{ readonly id: string }>>) =>
        (await rows).some((row) => row.id === id);
      expect(await db.system((connection) => has(kind.unapplied?.(connection, 10_000) ?? Promise.resolve([])))).toBe(
        false,
      );
      expect(await db.system((connection) => has(kind.wanted(connection, FIRST, 10_000)))).toBe(false);
    }
  });
  const shown = (await tenant.secret.get(`/v2/evals/monitors/${monitorId}`)).body;
  expect([shown.last_error, shown.last_error_at]).toEqual([
    expect.stringContaining("no such time"),
    expect.any(String),
  ]);
  const path = `/v2/knowledge-bases/${baseId}`;
  expect((await tenant.secret.get(path)).body.sync).toMatchObject({
    last_error: expect.stringContaining("no such time"),
    next_times: [],
  });
  // Setting the same schedule again retries it.
  const set = await tenant.secret.patch(path, { sync: { schedule_cron: "0 0 1 1 *" } });
  expect(set.body.sync.last_error).toBeNull();
  await expect.poll(async () => (await tenant.secret.get(path)).body.sync.next_times?.length).toBe(5);
  // A knowledge base can be deleted while it has a schedule.
  expect((await tenant.secret.delete(path)).status).toBe(204);
});

it("noisy-neighbour: schedules run no more often than the current minimum interval allows", async () => {
  const often = await trigger({ enabled: false, config: { cron: "*/2 * * * * *" } });
  const daily = await trigger({ enabled: false, config: { cron: "@daily" } });
  const kind = triggerSchedules({ MILLRACE_TASK_QUEUE: "q", MILLRACE_MIN_SCHEDULE_SECONDS: 10 });
  await tenant.withDatabase(async (db) => {
    const read = async (id: string) =>
      (await db.org(tenant.org_id, (connection) => kind.read(connection, id)))?.schedule;
    expect((await read(often))?.at).toEqual({ every_seconds: 10 });
    expect((await read(daily))?.at).toMatchObject({ cron: "@daily" });
  });
});
