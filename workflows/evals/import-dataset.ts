import { ownActivities } from "../activities.ts";
import type { EvalActivities } from "../../activities/index.ts";
import type { ImportInput } from "../../src/domain/evals/import.ts";

const IMPORT_TIMEOUT_MS = 3_600_000;

/** Imports rows into a dataset. The import's row has the result. */
export async function importDataset(input: ImportInput): Promise<void> {
  await ownActivities<EvalActivities>(IMPORT_TIMEOUT_MS).importRows(input);
}
