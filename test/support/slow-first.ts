import { readFileSync } from "node:fs";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** The files that take longest, the slowest first. */
const SLOWEST = [
  "test/long/schemathesis.test.ts",
  "test/kill/outage.test.ts",
  "test/kill/poison-run.test.ts",
  "test/long/documented-commands.test.ts",
  "test/long/sync-kills.test.ts",
  "test/kill/webhooks.test.ts",
  "test/long/versions.test.ts",
  "test/long/agents.test.ts",
  "test/cli/doctor.test.ts",
  "test/long/deployment.test.ts",
  "test/web/every-page.test.ts",
  "test/web/every-dialog.test.ts",
  "test/dev/npm-start.test.ts",
  "test/kill/parts.test.ts",
  "test/security/cross-tenant.test.ts",
  "test/engine/nested.test.ts",
  "test/engine/agent.test.ts",
  "test/api/knowledge/resources.test.ts",
  "test/platform/parsing.test.ts",
  "test/platform/child-pool.test.ts",
  "test/platform/sandbox.test.ts",
];

/** Matches the text of test files that start their own processes or servers. */
const STARTS =
  /\b(installSchemathesis|startServiceProcess|startService|startInProcess|openOwnConsole|ownPostgres|bareServer|startTemporal|install|spawn)\(/;

/**
 * The slowest files run first, then the ones that start their own processes, so that none is left alone at the end.
 * Vitest orders the others by their last duration, or else by size. The files of a project follow each other: a process
 * of vitest ends when the next file is of another project, and a new one would have to load everything again.
 */
export class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const ranked = (await super.sort(files)).map((file) => ({ file, rank: rankOf(file.moduleId) }));
    const slowFirst = ranked.toSorted((a, b) => a.rank - b.rank).map(({ file }) => file);
    const projects = [...new Set(slowFirst.map(({ project }) => project.name))];
    return projects.flatMap((name) => slowFirst.filter(({ project }) => project.name === name));
  }
}

/** The rank of a file: the slowest, then files with their own processes, then the others. */
function rankOf(file: string): number {
  const slowest = SLOWEST.findIndex((each) => file.endsWith(`/${each}`));
  if (slowest !== -1) return slowest;
  return SLOWEST.length + (STARTS.test(readFileSync(file, "utf8")) ? 0 : 1);
}
