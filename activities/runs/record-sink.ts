import { setTimeout as delay } from "node:timers/promises";
import type { RunReport } from "../../src/domain/runs/run-report.ts";
import type { RunRecorder } from "../../src/services/runs/run-recorder.ts";
import { whileDatabaseIsAway } from "../../src/stores/patience.ts";

const MAX_WAIT_MS = 5000;
/**
 * Most retries after errors other than an unreachable database. Few, because the workflow's step waits for the write;
 * afterwards the sweeper takes the run's end from the workflow's result.
 */
const MAX_FAULTS = 3;

/**
 * Writes the end of a run at the end of its workflow's last step. The SDK waits for a sink before it tells Temporal
 * that the step is done: a process that dies in between leaves a step that another process repeats, and the second
 * write changes nothing. So it is as safe as a local activity, but needs no marker in the history and no further
 * activation of the workflow, which saves a third of a short run's cost.
 */
export function createRecordSink(recorder: RunRecorder, onFault: (error: unknown, report: RunReport) => void) {
  return {
    record: {
      end: {
        callDuringReplay: false,
        async fn(_info: unknown, report: RunReport): Promise<void> {
          await whileDatabaseIsAway(() => recorder.record(report), {
            maxMs: Number.POSITIVE_INFINITY,
            maxWaitMs: MAX_WAIT_MS,
            maxFaults: MAX_FAULTS,
            sleep: delay,
            onError: (error) => onFault(error, report),
          }).catch(() => undefined);
        },
      },
    },
  };
}
