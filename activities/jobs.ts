import { whileBeating } from "./attempts.ts";
import type { ActivityDeps } from "./deps.ts";
import { asActivity } from "./failures.ts";
import { endFaulty, type JobEnds } from "./faults.ts";
import { observeFailures } from "./observe-failures.ts";
import { wrapEach, type Work } from "./wrap-each.ts";

/** Converts an activity's errors to the form that Temporal carries. */
export const reporting =
  (work: Work): Work =>
  (input) =>
    asActivity(() => work(input));

/** Like `reporting`, with heartbeats. */
export const long = (work: Work): Work => reporting((input) => whileBeating(() => work(input)));

/** Long activities whose final failure ends their job. */
export function jobs<Activities extends object>(
  activities: Activities,
  { onFailure }: Pick<ActivityDeps, "onFailure">,
  ends: JobEnds<Activities>,
): Activities {
  return endFaulty(observeFailures(wrapEach(activities, long), onFailure), ends);
}
