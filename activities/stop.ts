import type { Context } from "@temporalio/activity";
import { linkAbort } from "../src/platform/linked-abort.ts";
import type { LinkedAbort } from "../src/platform/linked-abort.ts";

/**
 * Aborts with an activity's cancellation too. Throws if the activity is cancelled already: a signal does not tell of it again, and the
 * work would begin, and go on until its time-out.
 */
export function stopWith({ cancellationSignal }: Context): LinkedAbort {
  cancellationSignal.throwIfAborted();
  return linkAbort([cancellationSignal]);
}
