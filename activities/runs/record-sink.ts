import { setTimeout as delay } from "node:timers/promises";
import type { RunReport } from "../../src/domain/runs/run-report.ts";
import { isConnectionError } from "../../src/stores/db.ts";
import type { RunRecorder } from "../../src/services/runs/run-recorder.ts";

const FIRST_WAIT_MS = 100;
const MAX_WAIT_MS = 5000;
/**
 * Failures that are not the database's absence, before the write is given up: the reconciler then takes the end from the
 * workflow's result. Few, since the workflow's step waits for the write.
 */
const MAX_FAULTS = 4;

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
          let faults = 0;
          for (let wait = FIRST_WAIT_MS; ; wait = Math.min(wait * 2, MAX_WAIT_MS)) {
            try {
              await recorder.record(report);
              return;
            } catch (error) {
              onFault(error, report);
              if (!isConnectionError(error)) faults += 1;
              if (faults >= MAX_FAULTS) return;
            }
            await delay(wait);
          }
        },
      },
    },
  };
}
