import { sleep } from "@temporalio/workflow";
import { evaluate } from "../values.ts";
import type { Executor } from "./executor.ts";

/** Only of waits as long as this (ms) it is written that they have begun. */
const ANNOUNCED_FROM_MS = 1000;

/** Waits; its value is the time it ended. */
export const executeDelay: Executor = async (frame, node, interpreter) => {
  const seconds = node.config["seconds"];
  let wait: number;
  if (typeof seconds === "number") wait = seconds * 1000;
  else {
    const { value } = await evaluate(frame, node, "until");
    wait = "v" in value && typeof value.v === "string" ? Date.parse(value.v) - Date.now() : 0;
  }
  await frame.ctx.work.whileBusy(async () => {
    if (wait >= ANNOUNCED_FROM_MS) {
      interpreter.announce();
      await frame.ctx.record.write();
    }
    if (wait > 0) await sleep(Math.ceil(wait));
  });
  return { value: { v: new Date(Date.now()).toISOString() } };
};
