import { writeFileSync } from "node:fs";
import type { Reporter, SerializedError, TestModule } from "vitest/node";

interface Counts {
  passed: number;
  /** A file that could not be loaded, or a hook that threw, counts as one failure. */
  failed: number;
  skipped: number;
}

/** The summary of a test run, which scripts/test.mjs reads. */
interface Summary {
  inAll: Counts;
  inOtherFiles: Counts;
  /** Files with a failure, and the full names of their failed tests. */
  failedFiles: { file: string; tests: string[] }[];
  /** Failures outside any file: unhandled errors, or a failed setup. */
  errors: number;
}

const testsOf = (module: TestModule) => [...module.children.allTests()];

const failedIn = (module: TestModule): boolean =>
  module.state() === "failed" || testsOf(module).some((test) => test.result().state === "failed");

function countIn(modules: readonly TestModule[]): Counts {
  const states = modules.flatMap((module) => testsOf(module).map((test) => test.result().state));
  const count = (state: string): number => states.filter((each) => each === state).length;
  const brokenFiles = modules.filter(
    (module) => module.state() === "failed" && ![...module.children.allTests("failed")].length,
  );
  return { passed: count("passed"), failed: count("failed") + brokenFiles.length, skipped: count("skipped") };
}

/**
 * Ends a test run with one plain line, `N passed, N failed`, for people and programs. Also writes it as JSON to the
 * file MILLRACE_TEST_SUMMARY.
 */
export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    const { passed, failed, skipped } = countIn(modules);
    // If there are no files, the setup failed, but vitest only reports that it found no tests.
    const errors = unhandled.length + (modules.length === 0 ? 1 : 0);
    const skippedToo = skipped > 0 ? `, ${skipped} skipped` : "";
    process.stdout.write(`${passed} passed, ${failed + errors} failed${skippedToo}\n`);
    const file = process.env["MILLRACE_TEST_SUMMARY"];
    if (file === undefined) return;
    const summary: Summary = {
      inAll: { passed, failed: failed + errors, skipped },
      inOtherFiles: countIn(modules.filter((module) => !failedIn(module))),
      failedFiles: modules.filter(failedIn).map((module) => ({
        file: module.relativeModuleId,
        tests: testsOf(module).flatMap((test) => (test.result().state === "failed" ? [test.fullName] : [])),
      })),
      errors,
    };
    writeFileSync(file, JSON.stringify(summary));
  }
}
