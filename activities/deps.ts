import type { Config } from "../src/config.ts";
import type { RunReport } from "../src/domain/runs/run-report.ts";
import type { BlobStore } from "../src/platform/blobs/blobs.ts";
import type { Evaluation } from "../src/platform/evaluation/evaluation.ts";
import type { RunRecorderDeps } from "../src/services/runs/run-recorder.ts";
import type { Database } from "../src/stores/db.ts";
import type { OnActivityFailure } from "./observe-failures.ts";
import type { Recording } from "./recording.ts";

/** What a process gives to the activities of its runs. */
export interface ActivityDeps extends Recording {
  readonly onFailure: OnActivityFailure;
  readonly config: Config;
  readonly db: Database;
  readonly blobs: BlobStore;
  readonly evaluation: Evaluation;
  readonly feed: RunRecorderDeps["feed"];
  readonly observer: RunRecorderDeps["observer"];
  /** Called whenever a write of a run's end fails and is retried. */
  readonly onFault: (error: unknown, report: RunReport) => void;
}
