import { ownActivities } from "../activities.ts";
import type { EvalActivities } from "../../activities/evals/types.ts";
import type { ImportInput } from "../../src/domain/evals/import.ts";

const IMPORT_TIMEOUT_MS = 3_600_000;

/** Imports rows into a dataset, and records the result in the import's row. */
export async function importDataset(input: ImportInput): Promise<void> {
  await ownActivities<EvalActivities>(IMPORT_TIMEOUT_MS).importRows(input);
}
