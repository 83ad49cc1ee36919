import type { Config } from "../../config.ts";
import { ROUNDS, type HouseInput, type Round } from "../../domain/house.ts";
import { LOWEST_ID } from "../../stores/keyset.ts";
import { houseSchedules as prefixOf, taskQueues } from "../../temporal/ids.ts";
import type { Schedule } from "../../temporal/schedules.ts";
import type { ScheduleKind } from "../schedules/apply.ts";
import { PURGES } from "./purges.ts";

type Settings = Pick<Config, "MILLRACE_TASK_QUEUE" | "MILLRACE_SWEEP_INTERVAL_MS">;

const MINUTE_SECONDS = 60;
const DAY_SECONDS = 86_400;
/** Spreads the daily rounds of installations that share a server or a blob store (s). */
const JITTER_SECONDS = 3600;

/** The schedules of the rounds of purges. They follow from the code, so no row requires them. */
export function houseSchedules(config: Settings): ScheduleKind {
  const schedules = ROUNDS.map((round) => ({ org_id: LOWEST_ID, id: round, schedule: scheduleOf(config, round) }));
  return {
    prefix: prefixOf(config.MILLRACE_TASK_QUEUE),
    named: true,
    async read(_, round) {
      const found = schedules.find(({ id }) => id === round);
      return found ? { revision: "", schedule: found.schedule } : null;
    },
    wanted: async () => schedules,
  };
}

function scheduleOf({ MILLRACE_TASK_QUEUE, MILLRACE_SWEEP_INTERVAL_MS }: Settings, round: Round): Schedule {
  const { background, house } = taskQueues(MILLRACE_TASK_QUEUE);
  const seconds = {
    minute: MINUTE_SECONDS,
    // A shorter interval of the sweepers shortens this one too.
    "five-minutes": Math.min(5 * MINUTE_SECONDS, Math.ceil(MILLRACE_SWEEP_INTERVAL_MS / 5)),
    day: DAY_SECONDS,
  }[round];
  const input: HouseInput = {
    purges: PURGES.filter(({ every }) => every === round).map(({ name }) => name),
    activity_queue: house,
  };
  return {
    id: prefixOf(MILLRACE_TASK_QUEUE) + round,
    at: { every_seconds: seconds },
    overlap: "skip",
    // A daily round that Temporal missed is made up for; the others come again soon.
    catchup_window_seconds: round === "day" ? DAY_SECONDS : MINUTE_SECONDS,
    jitter_seconds: round === "day" ? JITTER_SECONDS : 0,
    paused: false,
    // No organisation's: Temporal's fairness counts it as one more.
    org_id: LOWEST_ID,
    urgency: "batch",
    workflow: { type: "keepHouse", input, queue: background },
  };
}
