import type { Client } from "@temporalio/client";
import { uuidv7 } from "uuidv7";
import { beforeAll, describe, expect, it } from "vitest";
import { compareSchedules } from "../../../src/services/schedules/compare.ts";
import { triggerSchedules } from "../../../src/services/triggers/schedules.ts";
import { triggerScheduleId } from "../../../src/temporal/ids.ts";
import { createSchedules, type Schedule } from "../../../src/temporal/schedules.ts";
import { echo, openTenant, type ApiTenant } from "../../api/tenant.ts";
import { withTemporal } from "../../support/histories.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const NOW = Math.floor(Date.now() / DAY) * DAY;

/** The local time of a zone. */
interface Shown {
  readonly month: number;
  readonly day: number;
  readonly weekday: string;
  readonly hour: number;
  readonly minute: number;
}
function clockOf(zone: string): (at: number) => Shown {
  const format = new Intl.DateTimeFormat("en", {
    timeZone: zone,
    hourCycle: "h23",
    month: "numeric",
    day: "numeric",
    weekday: "short",
    hour: "numeric",
    minute: "numeric",
  });
  return (at) => {
    const parts = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, value]));
    const [month, day, hour, minute] = ["month", "day", "hour", "minute"].map((name) => Number(parts[name]));
    return { month, day, hour, minute, weekday: parts["weekday"] ?? "" } as Shown;
  };
}

/** The next times within a year at which the clocks of a zone go forward and back. */
function changesOf(zone: string): number[] {
  const clock = clockOf(zone);
  const ofDay = (at: number): number => clock(at).hour * 60 + clock(at).minute;
  const found: number[] = [];
  for (let at = Math.ceil(NOW / DAY) * DAY; at < NOW + 366 * DAY; at += DAY) {
    if (ofDay(at) === ofDay(at + DAY)) continue;
    for (let minute = at; minute < at + DAY; minute += 15 * MINUTE)
      if ((ofDay(minute + 15 * MINUTE) - ofDay(minute) + 1440) % 1440 !== 15) found.push(minute + 15 * MINUTE);
  }
  return found;
}

interface Case {
  readonly cron: string;
  readonly isDue: (shown: Shown) => boolean;
  /** A fixed time of day, due once a day. */
  readonly once?: true;
}
const CASES: readonly Case[] = [
  { cron: "*/15 * * * *", isDue: ({ minute }) => minute % 15 === 0 },
  { cron: "0 * * * *", isDue: ({ minute }) => minute === 0 },
  { cron: "@hourly", isDue: ({ minute }) => minute === 0 },
  { cron: "5/20 */2 * * *", isDue: ({ hour, minute }) => hour % 2 === 0 && minute % 20 === 5 },
  { cron: "*/15 1,2 * * *", isDue: ({ hour, minute }) => (hour === 1 || hour === 2) && minute % 15 === 0 },
  { cron: "0,15,30,45 0-3 * * *", isDue: ({ hour, minute }) => hour <= 3 && minute % 15 === 0, once: true },
  {
    cron: "30 1 * * sun",
    isDue: ({ weekday, hour, minute }) => weekday === "Sun" && hour === 1 && minute === 30,
    once: true,
  },
  { cron: "45 2 1-31/1 * 0-7", isDue: ({ hour, minute }) => hour === 2 && minute === 45, once: true },
  { cron: "0 30 23 * * *", isDue: ({ hour, minute }) => hour === 23 && minute === 30, once: true },
  { cron: "@midnight", isDue: ({ hour, minute }) => hour === 0 && minute === 0, once: true },
];
const ZONES = [
  "Europe/Berlin",
  "Europe/London",
  "America/New_York",
  "America/St_Johns",
  "America/Havana",
  "Australia/Sydney",
  "Australia/Lord_Howe",
  "Pacific/Chatham",
  "Africa/Casablanca",
  "Atlantic/Azores",
  "Asia/Kolkata",
];

/** The times at which a case is due by the clock of its zone, minute by minute. */
function timesByClock({ isDue, once }: Case, zone: string, from: number, to: number): string[] {
  const clock = clockOf(zone);
  const seen = new Set<string>();
  const times: string[] = [];
  // Starts earlier, because the clock may have shown the same time before.
  for (let at = from - 2 * HOUR; at < to; at += MINUTE) {
    const shown = clock(at);
    if (!isDue(shown)) continue;
    const local = JSON.stringify(shown);
    if (at >= from && !(once === true && seen.has(local))) times.push(new Date(at).toISOString());
    seen.add(local);
  }
  return times;
}

const schedule = (cron: string, time_zone: string): Schedule => ({
  id: `clock-${uuidv7()}`,
  at: { cron, time_zone },
  overlap: "skip",
  catchup_window_seconds: 3600,
  jitter_seconds: 0,
  paused: true,
  org_id: uuidv7(),
  urgency: "batch",
  workflow: { type: "pollTrigger", input: {}, queue: "nobodys" },
});

let tenant: ApiTenant;
beforeAll(async () => {
  tenant = await openTenant();
});
const inTemporal = <T>(work: (client: Client) => Promise<T>): Promise<T> =>
  withTemporal(tenant.target.temporalAddress, work);

describe("the times that Temporal computes when clocks change", () => {
  it.each(ZONES)("match the clock of %s: repeating times in real time, fixed times once", async (zone) => {
    await inTemporal(async (client) => {
      const schedules = createSchedules(client, "clocks");
      const checked = CASES.map(async (each) => {
        const { id, ...rest } = schedule(each.cron, zone);
        await schedules.put({ id, ...rest });
        const changes = changesOf(zone);
        for (const at of changes.length === 0 ? [NOW + DAY] : changes) {
          const [from, to] = [at - 5 * HOUR, at + 5 * HOUR];
          const stamp = (ms: number) => ({ seconds: Math.floor(ms / 1000) as never, nanos: 0 });
          const { startTime } = await client.workflowService.listScheduleMatchingTimes({
            namespace: client.options.namespace,
            scheduleId: id,
            startTime: stamp(from - 1000),
            endTime: stamp(to - 1000),
          });
          const times = (startTime ?? []).map(({ seconds }) => new Date(Number(seconds) * 1000).toISOString());
          expect(times, `${each.cron} around ${new Date(at).toISOString()}`).toEqual(
            timesByClock(each, zone, from, to),
          );
        }
        await schedules.remove(id);
      });
      await Promise.all(checked);
    });
  });

  it("are listed years ahead for rare schedules too", async () => {
    await inTemporal(async (client) => {
      const schedules = createSchedules(client, "clocks");
      for (const [cron, zone, hour] of [
        ["0 9 29 2 *", "Europe/Berlin", "T08:00:00.000Z"],
        ["0 9 13 jul fri", "America/New_York", "T13:00:00.000Z"],
      ] as const) {
        const { id, ...rest } = schedule(cron, zone);
        await schedules.put({ id, ...rest, paused: false });
        const times = await schedules.nextTimes(id, 3);
        expect(times).toEqual(Array.from({ length: 3 }, () => expect.stringContaining(hour)));
        await schedules.remove(id);
      }
    });
  });
});

describe("a trigger in a time zone whose clocks change", () => {
  const NIGHT = "30 2 * * *";
  const create = async (config: object) => {
    const { status, body } = await tenant.secret.post("/v2/triggers", {
      project_id: await tenant.deploy(echo()),
      provider_id: "millrace",
      trigger_id: "schedule",
      config,
      inputs: { "in-0": "payload.scheduled_at" },
    });
    expect(status, JSON.stringify(body)).toBe(201);
    return body;
  };

  it("warns about times that are skipped and no others", async () => {
    const [forward = 0] = changesOf("Europe/Berlin").filter((at) => clockOf("Europe/Berlin")(at).hour === 3);
    const date = new Date(forward).toISOString().slice(0, 10);
    const skipped = (times: string) =>
      `On ${date} the clocks in Europe/Berlin go forward and skip ${times}: nothing runs at these times`;
    for (const [cron, warnings] of [
      [NIGHT, [skipped("02:30")]],
      ["*/10 2 * * *", [skipped("02:00, 02:10, 02:20 and 3 more")]],
      ["*/15 * * * *", []],
      ["0 9 * * *", []],
    ] as const) {
      const { body } = await tenant.secret.get(
        `/v2/triggers/${(await create({ cron, time_zone: "europe/berlin" })).id}`,
      );
      expect([cron, body.warnings]).toEqual([cron, warnings]);
      // Null while Temporal is too busy to return them.
      const times = async () => (await tenant.secret.get(`/v2/triggers/${body.id}`)).body.next_times?.length;
      await expect.poll(times).toBe(5);
    }
    expect((await create({ cron: NIGHT, time_zone: "Asia/Kolkata" })).warnings).toEqual([]);
  });

  it("gets times for further years before its current ones run out, but not while it catches up on missed ones", async () => {
    const { id } = await create({ cron: NIGHT, time_zone: "Europe/Berlin" });
    const plain = await create({ cron: NIGHT });
    await inTemporal(async (client) => {
      const { action } = await client.schedule.getHandle(triggerScheduleId(id)).describe();
      const MILLRACE_TASK_QUEUE = (action as { taskQueue: string }).taskQueue.replace(/-runs$/, "");
      const schedules = createSchedules(client, MILLRACE_TASK_QUEUE);
      const kinds = [triggerSchedules({ MILLRACE_TASK_QUEUE, MILLRACE_MIN_SCHEDULE_SECONDS: 1 })];
      await tenant.withDatabase(async (db) => {
        const differing = async (renews: boolean, years: number): Promise<string[]> => {
          const { missing } = await compareSchedules({ db, schedules }, kinds, {
            renews,
            now: NOW + years * 365 * DAY,
          });
          return missing.map((each) => each.id).filter((each) => each === id || each === plain.id);
        };
        await expect.poll(() => differing(true, 0)).toEqual([]);
        expect(await differing(false, 1)).toEqual([]);
        expect(await differing(true, 1)).toEqual([id]);
        expect(await differing(false, 3)).toEqual([id]);
      });
    });
  });
});
