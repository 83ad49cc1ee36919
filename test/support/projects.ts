import type { TestProjectInlineConfiguration } from "vitest/config";

// The two groups of tests that both `npm test` and `npm run test:long` have, with different files.

/**
 * Timeouts of `expect.poll` are generous, because a condition becomes true soon or never, and load must not decide
 * which. The interval leaves CPU time to the processes that a test waits for.
 */
export const poll = { expect: { poll: { timeout: 60_000, interval: 100 } } };
const times = { testTimeout: 90_000, hookTimeout: 120_000 };

type Files = Pick<NonNullable<TestProjectInlineConfiguration["test"]>, "include" | "exclude">;

/**
 * Tests against one API and one worker, with real Postgres and Temporal servers and temporary state. They mostly wait,
 * so more files run at one time than there are cores.
 */
export const onSharedService = (files: Files, groupOrder: number): TestProjectInlineConfiguration => ({
  test: {
    name: "service",
    ...files,
    globalSetup: ["test/support/global-setup.ts"],
    // replay-runs.ts replays the runs of each file, which reveals non-deterministic workflow code.
    setupFiles: ["test/support/seed.ts", "test/support/replay-runs.ts", "test/support/stop-monitors.ts"],
    ...times,
    ...poll,
    isolate: false,
    maxWorkers: 4,
    sequence: { groupOrder },
  },
});

/** Tests of the console in one Chromium, on the same installation; its runs are replayed together with those of the other tests. */
export const inBrowser = (files: Files, groupOrder: number): TestProjectInlineConfiguration => ({
  test: {
    name: "web",
    ...files,
    globalSetup: ["test/web/support/global-setup.ts"],
    setupFiles: ["test/support/seed.ts"],
    ...times,
    ...poll,
    isolate: false,
    maxWorkers: 3,
    sequence: { groupOrder },
  },
});
