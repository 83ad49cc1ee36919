import type { Context } from "@temporalio/activity";
import { linkAbort } from "../src/platform/linked-abort.ts";
import type { LinkedAbort } from "../src/platform/linked-abort.ts";

/**
 * Creates an abort that also follows the activity's cancellation. Throws if the activity is already cancelled: the
 * signal does not fire again, so the work would run until its timeout.
 */
export function stopWith({ cancellationSignal }: Context): LinkedAbort {
  cancellationSignal.throwIfAborted();
  return linkAbort([cancellationSignal]);
}
