import type { RunReport } from "./run-report.ts";

/** What a workflow hands out at the end of a step, to be done before Temporal learns that the step is done. */
export type RecordSinks = {
  readonly record: {
    end(report: RunReport): void;
  };
};
