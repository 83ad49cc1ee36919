import { readFileSync } from "node:fs";
import type { TestSpecification } from "vitest/node";
import { BaseSequencer } from "vitest/node";

/** Matches the text of test files that start their own processes or servers. */
const STARTS =
  /\b(installSchemathesis|startServiceProcess|startService|startInProcess|openOwnConsole|ownPostgres|bareServer|startTemporal|install|spawn)\(/;

/**
 * Files that start their own processes take longest, so they run first and none is left alone at the end. Vitest orders
 * the others by their last duration, or else by size.
 */
export class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const rank = new Map(sorted.map((file) => [file, rankOf(readFileSync(file.moduleId, "utf8"))]));
    return sorted.toSorted((a, b) => (rank.get(a) ?? 0) - (rank.get(b) ?? 0));
  }
}

/** The rank of a file: Schemathesis and `millrace dev` first, then files with their own processes, then the others. */
function rankOf(text: string): number {
  if (/\b(installSchemathesis|millrace dev)\b/.test(text)) return 0;
  return STARTS.test(text) ? 1 : 2;
}
