import { createHash } from "node:crypto";
import { ScheduleAlreadyRunning, isGrpcServiceError, type Client, type ScheduleOptions } from "@temporalio/client";
import { PERIODS, startOfPeriod } from "../domain/cron-calendars.ts";
import { ignoreMissing, inTime } from "./calls.ts";
import { cronSpec, markedCron } from "./cron-spec.ts";
import { taskQueues } from "./ids.ts";
import { priorityOf, type Priority } from "./priority.ts";
import type { Urgency } from "../domain/urgency.ts";

/** A workflow to start repeatedly, and the times of the starts. */
export interface Schedule {
  readonly id: string;
  /** Times of a cron expression in a time zone as written in the database, or an interval in seconds. */
  readonly at: { readonly cron: string; readonly time_zone: string } | { readonly every_seconds: number };
  readonly overlap: "skip" | "buffer_one" | "buffer_all" | "allow_all";
  readonly catchup_window_seconds: number;
  readonly jitter_seconds: number;
  readonly paused: boolean;
  /** `id` is the prefix of its workflows' IDs, before the scheduled time; default: the schedule's ID. */
  readonly workflow: { readonly type: string; readonly id?: string; readonly input: object; readonly queue: string };
  /** The organisation and the urgency of its workflows. */
  readonly org_id: string;
  readonly urgency: Urgency;
}

/** A schedule as Temporal lists it. */
export interface ListedSchedule {
  readonly id: string;
  /** Its mark (scheduleMark); null if this version did not make it. */
  readonly mark: string | null;
  readonly paused: boolean;
}

export type Schedules = ReturnType<typeof createSchedules>;

/** Thrown for a schedule that Temporal will never accept. */
export class ScheduleRefused extends Error {
  override name = "ScheduleRefused";
}

const OVERLAPS = { skip: "SKIP", buffer_one: "BUFFER_ONE", buffer_all: "BUFFER_ALL", allow_all: "ALLOW_ALL" } as const;
/** The code of gRPC errors that a retry does not change. */
const INVALID_ARGUMENT = 3;

const MARK = "Kept by Millrace: ";

/**
 * A digest of everything that determines a schedule's spec, with the installation's own queue. It is stored in the schedule's note, which
 * lists include. Specs for a zone whose clocks change cover a few half-years, so the mark differs in each half-year.
 */
function scheduleMark(schedule: Schedule, now: number): string {
  const at = "cron" in schedule.at ? markedCron(schedule.at, now) : schedule.at;
  const digest = createHash("sha256")
    .update(JSON.stringify({ ...schedule, at }))
    .digest("hex")
    .slice(0, 16);
  return `${MARK}${schedule.workflow.queue} ${digest}`;
}

/** The number of half-years since this mark was made for the schedule; null if it was made for another one, or if its times are used up. */
export function ageOfMark(schedule: Schedule, mark: string | null, now: number): number | null {
  for (let age = 0; age < PERIODS; age += 1) if (mark === scheduleMark(schedule, startOfPeriod(now, -age))) return age;
  return null;
}

/** Temporal's schedules. Every call is idempotent, and responds or times out within seconds. */
export function createSchedules(client: Client, taskQueuePrefix: string, now: () => number = Date.now) {
  const queues: ReadonlySet<string> = new Set(Object.values(taskQueues(taskQueuePrefix)));
  return {
    /** Creates or replaces a schedule. Throws ScheduleRefused. */
    async put(schedule: Schedule): Promise<void> {
      const options = optionsOf(schedule, now());
      try {
        await inTime(client.schedule.create(options));
      } catch (error) {
        if (!(error instanceof ScheduleAlreadyRunning)) throw refusalOf(error);
        const { spec, action, policies, state } = options;
        const replaced = client.schedule.getHandle(schedule.id).update(() => ({ spec, action, policies, state }));
        await inTime(replaced).catch((failure: unknown) => {
          throw refusalOf(failure);
        });
      }
    },
    /** Deletes a schedule; succeeds if it does not exist. */
    async remove(id: string): Promise<void> {
      await inTime(client.schedule.getHandle(id).delete()).catch(ignoreMissing);
    },
    /** The next times, at most `count`. */
    async nextTimes(id: string, count: number): Promise<string[]> {
      const { info } = await inTime(client.schedule.getHandle(id).describe());
      return info.nextActionTimes.slice(0, count).map((time) => time.toISOString());
    },
    /** Every schedule of the namespace; the list may be some seconds old. */
    async *list(): AsyncGenerator<ListedSchedule> {
      for await (const { scheduleId, state } of client.schedule.list({ pageSize: 500 })) {
        const mark = state.note?.startsWith(MARK) === true ? state.note : null;
        yield { id: scheduleId, mark, paused: state.paused };
      }
    },
    /** Whether a schedule starts workflows of this installation: several installations may share a namespace. */
    async isOurs(id: string, mark: string | null): Promise<boolean> {
      if (mark !== null) return queues.has(mark.slice(MARK.length, mark.lastIndexOf(" ")));
      const found = await inTime(client.schedule.getHandle(id).describe()).catch(ignoreMissing);
      return found !== undefined && queues.has(found.action.taskQueue);
    },
  };
}

function refusalOf(error: unknown): unknown {
  const cause = error instanceof Error && isGrpcServiceError(error.cause) ? error.cause : error;
  if (!isGrpcServiceError(cause) || cause.code !== INVALID_ARGUMENT) return error;
  return new ScheduleRefused(`Temporal rejected the schedule: ${cause.details || cause.message}`, { cause: error });
}

function optionsOf(schedule: Schedule, now: number) {
  const { id, at, workflow, org_id, urgency } = schedule;
  // The SDK sends the priority, but its type of an action lacks it.
  const priority: { readonly priority: Priority } = { priority: priorityOf(org_id, urgency) };
  return {
    scheduleId: id,
    spec: {
      ...("cron" in at ? cronSpec(at, now) : { intervals: [{ every: at.every_seconds * 1000 }] }),
      jitter: schedule.jitter_seconds * 1000,
    },
    action: {
      type: "startWorkflow",
      workflowType: workflow.type,
      // Temporal appends the scheduled time to the ID, so each time starts one workflow.
      workflowId: workflow.id ?? id,
      taskQueue: workflow.queue,
      args: [workflow.input],
      ...priority,
    },
    policies: { overlap: OVERLAPS[schedule.overlap], catchupWindow: schedule.catchup_window_seconds * 1000 },
    state: { paused: schedule.paused, note: scheduleMark(schedule, now) },
  } satisfies ScheduleOptions;
}
