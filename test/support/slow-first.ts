import { readFileSync } from "node:fs";
import type { TestSpecification } from "vitest/node";
import { BaseSequencer } from "vitest/node";

/** Matches the text of test files that start processes or servers of their own. */
const STARTS =
  /\b(installSchemathesis|startServiceProcess|startService|startInProcess|openOwnConsole|ownPostgres|bareServer|startTemporal|install|spawn)\(/;

/**
 * Files that start processes of their own take longest, whatever their size: they come first, so that none is left to
 * run alone at the end. Vitest orders the others, by how long they took the last time or else by their size.
 */
export class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const rank = new Map(sorted.map((file) => [file, rankOf(readFileSync(file.moduleId, "utf8"))]));
    return sorted.toSorted((a, b) => (rank.get(a) ?? 0) - (rank.get(b) ?? 0));
  }
}

/** The place of a file: Schemathesis and `millrace dev` first, then files with processes of their own, then the others. */
function rankOf(text: string): number {
  if (/\b(installSchemathesis|millrace dev)\b/.test(text)) return 0;
  return STARTS.test(text) ? 1 : 2;
}
