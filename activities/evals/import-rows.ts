import { Context } from "@temporalio/activity";
import type { ImportInput } from "../../src/domain/evals/import.ts";
import { importRows } from "../../src/services/evals/import-rows.ts";
import type { ImportDeps } from "../../src/services/evals/import-rows.ts";

/** Reads an import's source and applies it to its dataset. */
export function createImportRows(deps: ImportDeps) {
  return (input: ImportInput): Promise<void> => importRows(deps, input, Context.current().cancellationSignal);
}
