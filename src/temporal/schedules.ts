import { ScheduleAlreadyRunning, ScheduleNotFoundError } from "@temporalio/client";
import type { Client, ScheduleOptions } from "@temporalio/client";
import { inTime } from "./calls.ts";

/** When a workflow is started again and again, and which one. */
export interface Schedule {
  readonly id: string;
  /** Times as cron has them in a time zone, or every so many seconds. */
  readonly at: { readonly cron: string; readonly time_zone: string } | { readonly every_seconds: number };
  readonly overlap: "skip" | "buffer_one" | "buffer_all" | "allow_all";
  readonly catchup_window_seconds: number;
  readonly jitter_seconds: number;
  readonly paused: boolean;
  /** `id`: of its workflows, with the scheduled time behind it; that of the schedule unless given. */
  readonly workflow: { readonly type: string; readonly id?: string; readonly input: object; readonly queue: string };
}

/** Temporal's Schedules. Every call is idempotent, and answered or given up in seconds. */
export interface Schedules {
  /** Makes a schedule this one, whether it is there or not. */
  put(schedule: Schedule): Promise<void>;
  /** Removes a schedule; one that is not there is no error. */
  remove(id: string): Promise<void>;
}

const OVERLAPS = { skip: "SKIP", buffer_one: "BUFFER_ONE", buffer_all: "BUFFER_ALL", allow_all: "ALLOW_ALL" } as const;

export function createSchedules(client: Client): Schedules {
  return {
    async put(schedule) {
      const options = optionsOf(schedule);
      try {
        await inTime(client.schedule.create(options));
      } catch (error) {
        if (!(error instanceof ScheduleAlreadyRunning)) throw error;
        const { spec, action, policies } = options;
        const change = { spec, action, policies: policies ?? {}, state: { paused: schedule.paused } };
        await inTime(client.schedule.getHandle(schedule.id).update(() => change));
      }
    },
    async remove(id) {
      try {
        await inTime(client.schedule.getHandle(id).delete());
      } catch (error) {
        if (!(error instanceof ScheduleNotFoundError)) throw error;
      }
    },
  };
}

function optionsOf({ id, at, workflow, ...schedule }: Schedule) {
  return {
    scheduleId: id,
    spec: {
      ...("cron" in at
        ? { cronExpressions: [at.cron], timezone: at.time_zone }
        : { intervals: [{ every: at.every_seconds * 1000 }] }),
      jitter: schedule.jitter_seconds * 1000,
    },
    action: {
      type: "startWorkflow",
      workflowType: workflow.type,
      // Temporal puts the scheduled time behind it: one time, one workflow.
      workflowId: workflow.id ?? id,
      taskQueue: workflow.queue,
      args: [workflow.input],
    },
    policies: {
      overlap: OVERLAPS[schedule.overlap],
      catchupWindow: schedule.catchup_window_seconds * 1000,
    },
    state: { paused: schedule.paused },
  } satisfies ScheduleOptions;
}
