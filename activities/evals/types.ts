import type {
  ExperimentEndInput,
  ExperimentJobInput,
  ExperimentLanes,
  LaneInput,
  LaneRow,
} from "../../src/domain/evals/experiment.ts";
import type { ImportInput } from "../../src/domain/evals/import.ts";
import type { WatchInput } from "../../src/domain/evals/monitor.ts";

/** Long jobs of evals. */
export interface EvalActivities {
  /** Reads an import's source and applies it to its dataset. */
  importRows(input: ImportInput): Promise<void>;
  /** Creates the rows of an experiment, or resets the rows of a job; null if there is nothing to run. */
  beginExperiment(input: ExperimentJobInput): Promise<ExperimentLanes | null>;
  /** Inserts the runs of a lane's next rows and returns the rows; `more`: further rows may follow. */
  nextRows(input: LaneInput): Promise<{ rows: LaneRow[]; more: boolean }>;
  /** Records the ends of rows, and has their runs scored. */
  scoreRows(input: ExperimentJobInput & { places: readonly number[] }): Promise<void>;
  /** Scores finished runs again. */
  scoreExperiment(input: ExperimentJobInput): Promise<void>;
  exportExperiment(input: ExperimentJobInput): Promise<void>;
  /** Scores the next runs sampled by a monitor; `more`: further runs may follow. */
  scoreTaken(input: WatchInput): Promise<{ more: boolean }>;
  /** Checks whether the alert of a monitor has changed, and sends an event if so. */
  checkAlert(input: WatchInput): Promise<void>;
  /** Ends a job and, unless it is an export, its experiment. */
  endExperiment(input: ExperimentEndInput): Promise<void>;
}
