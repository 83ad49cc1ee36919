import type { TestProjectInlineConfiguration } from "vitest/config";

// The two groups of tests that `npm test` and `npm run test:long` both have, each with other files.

/**
 * The limits of `expect.poll` are generous, since what a test waits for comes soon or never, and a busy machine must not decide
 * which. It does not look all the time, which would take the processor from what it waits for.
 */
export const poll = { expect: { poll: { timeout: 60_000, interval: 100 } } };
const times = { testTimeout: 90_000, hookTimeout: 120_000 };

type Files = Pick<NonNullable<TestProjectInlineConfiguration["test"]>, "include" | "exclude">;

/**
 * Against one api and one worker, on a real Postgres and a real Temporal server, all on throw-away state. These tests
 * wait more than they compute, so more files run at once than there are cores.
 */
export const onSharedService = (files: Files, groupOrder: number): TestProjectInlineConfiguration => ({
  test: {
    name: "service",
    ...files,
    globalSetup: ["test/support/global-setup.ts"],
    // Replays what each file ran: whatever is not deterministic shows there.
    setupFiles: ["test/support/seed.ts", "test/support/replay-runs.ts", "test/support/stop-monitors.ts"],
    ...times,
    ...poll,
    isolate: false,
    maxWorkers: 4,
    sequence: { groupOrder },
  },
});

/** The console in one Chromium, on the same service. What its runs do is replayed with the tests of that service. */
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
