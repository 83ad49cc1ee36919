import type { Reporter, SerializedError, TestModule } from "vitest/node";

/**
 * Closes a test run with one plain line, `N passed, N failed`, for people and for machines that read it. Before it stands
 * each test that failed and then passed (see vitest.config.ts): a race to be found, in the test or in what it tests.
 */
export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()].map((test) => test.result().state));
    const count = (state: string): number => tests.filter((each) => each === state).length;
    // A file that could not be loaded, a hook that threw and an error outside any test fail the run too.
    const brokenFiles = modules.filter(
      (module) => module.state() === "failed" && ![...module.children.allTests("failed")].length,
    );
    // No file at all: the set-up failed (vitest then says that it found none).
    const failed = count("failed") + brokenFiles.length + unhandled.length + (modules.length === 0 ? 1 : 0);
    const skipped = count("skipped");
    for (const test of modules.flatMap((module) => [...module.children.allTests()])) {
      if (test.diagnostic()?.flaky)
        process.stdout.write(`failed once, then passed: ${test.module.relativeModuleId} > ${test.fullName}\n`);
    }
    process.stdout.write(`${count("passed")} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}\n`);
  }
}
