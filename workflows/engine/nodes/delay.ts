import { sleep } from "@temporalio/workflow";
import { local } from "../../activities.ts";
import { passedBefore } from "../frame.ts";
import { evaluate } from "../values.ts";
import type { Executor } from "./executor.ts";

/** The start of a wait at least this long (ms) is recorded. */
const ANNOUNCED_FROM_MS = 1000;

/**
 * A timer of Temporal takes a second at least, so a local activity does shorter waits (ms). Not if much is pending:
 * the workflow receives no other event until it has ended, and a process has few slots for them.
 */
const TIMERS_FROM_MS = 1000;
const MAX_PENDING = 10;

/** Waits; its value is the time when it ended. */
export const executeDelay: Executor<"delay"> = async (frame, node, interpreter) => {
  const { seconds } = node.config;
  let wait: number;
  if (seconds !== undefined) wait = seconds * 1000 - passedBefore(frame, node);
  else {
    const { value } = await evaluate(frame, node, "until");
    wait = "v" in value && typeof value.v === "string" ? Date.parse(value.v) - Date.now() : 0;
  }
  const { record, work } = frame.ctx;
  await work.whileBusy(async () => {
    if (wait >= ANNOUNCED_FROM_MS) {
      interpreter.announce();
      await record.write();
    }
    const ms = Math.ceil(wait);
    const here = ms < TIMERS_FROM_MS && work.pending <= MAX_PENDING;
    if (wait <= 0) return;
    const { org_id } = frame.ctx.input;
    const done = here && !(await work.whileLocalActivityRuns(() => local.wait({ ms, org_id })));
    // Too long for a local activity, or handed back by a process with enough of this organisation's work.
    if (!done) await sleep(ms);
  });
  return { value: { v: new Date(Date.now()).toISOString() } };
};
