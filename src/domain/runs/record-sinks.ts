import type { RunReport } from "./run-report.ts";

/** Temporal sinks of the run workflow: called at the end of a workflow task, before its completion is reported. */
export type RecordSinks = {
  readonly record: {
    end(report: RunReport): void;
  };
};
