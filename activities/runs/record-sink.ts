import { setTimeout as delay } from "node:timers/promises";
import type { RunReport } from "../../src/domain/runs/run-report.ts";
import type { RunRecorder } from "../../src/services/runs/run-recorder.ts";
import { whileDatabaseIsAway } from "../../src/stores/patience.ts";

const MAX_WAIT_MS = 5000;
/**
 * Failures other than an unreachable database before the last attempt. If that fails, too, the reconciler takes the
 * end from the workflow's result. Few, since the workflow's step waits for the write.
 */
const MAX_FAULTS = 3;

/**
 * Writes the end of a run at the end of its workflow's last step. The SDK waits for a sink before it tells Temporal that
 * the step is done: a process that dies in between leaves a step that another process repeats, and the second write
 * changes nothing. So it is as safe as a local activity, and saves its marker in the history and a round through the
 * workflow's sandbox: a third of what a short run costs.
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
