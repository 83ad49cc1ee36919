import { setImmediate } from "node:timers/promises";
import { createLimit } from "./at-once.ts";

const iteration = createLimit(1);

/**
 * Resolves in a later iteration of the event loop, one caller per iteration and organisations in turn. Work on long values awaits this
 * between slices, so that everything else waits for only one slice at a time, however many callers there are.
 */
export function nextSlice(orgId = ""): Promise<void> {
  return iteration(() => setImmediate(), orgId);
}
