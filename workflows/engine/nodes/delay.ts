import { sleep } from "@temporalio/workflow";
import { local } from "../../activities.ts";
import { passedBefore } from "../frame.ts";
import { evaluate } from "../values.ts";
import type { Executor } from "./executor.ts";

/** A wait of at least this long (ms) is recorded when it starts. */
const ANNOUNCED_FROM_MS = 1000;

/**
 * A Temporal timer takes at least a second, so a local activity does shorter waits (ms). But not if much work is pending: until a local
 * activity ends, the workflow receives no other event, and a process has few slots for such waits.
 */
const TIMERS_FROM_MS = 1000;
const MAX_PENDING = 10;

/** Waits. The node's value is the time at which the wait ended. */
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
      interpreter.announce("RUNNING", { due_at: new Date(Date.now() + wait).toISOString() });
      await record.write();
    }
    const ms = Math.ceil(wait);
    const here = ms < TIMERS_FROM_MS && work.pending <= MAX_PENDING;
    if (wait <= 0) return;
    const run = frame.ctx.identity;
    const done = here && !(await work.whileLocalActivityRuns(() => local.wait({ ms, org_id: run.org_id, run })));
    // The wait was too long for a local activity, or it was handed back because the organisation has used its share or the run is stopping.
    if (!done) await sleep(ms);
  });
  return { value: { v: new Date(Date.now()).toISOString() } };
};
