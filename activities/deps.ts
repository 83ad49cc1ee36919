import type { RunReport } from "../src/domain/runs/run-report.ts";
import type { Parts } from "../src/services/parts.ts";
import type { RunRecorderDeps } from "../src/services/runs/run-recorder.ts";
import type { OnActivityFailure } from "./observe-failures.ts";
import type { Recording } from "./recording.ts";

/** What a process gives to the activities of its runs. */
export interface ActivityDeps extends Recording, Parts<"config" | "db" | "blobs" | "evaluation" | "feed"> {
  readonly onFailure: OnActivityFailure;
  readonly observer: RunRecorderDeps["observer"];
  /** Called whenever a write of a run's end fails and is retried. */
  readonly onFault: (error: unknown, report: RunReport) => void;
}
