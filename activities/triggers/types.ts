import type { RunInput } from "../../src/domain/runs/run.ts";
import type { NO_PLACE } from "../../src/domain/triggers/scheduled.ts";

/** Short activities of triggers, in the same process as the workflow. */
export interface LocalTriggerActivities {
  /**
   * Inserts the run for one firing of a schedule (once per ID), and returns the input of its workflow; NO_PLACE if too
   * many runs are unfinished, null if there is nothing to start.
   */
  createScheduledRun(input: {
    org_id: string;
    id: string;
    scheduled_at: string;
  }): Promise<Omit<RunInput, "plan"> | typeof NO_PLACE | null>;
}

/** Activities that poll what triggers watch. */
export interface TriggerActivities {
  pollTrigger(input: { org_id: string; id: string }): Promise<void>;
}
