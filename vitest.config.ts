import { defineConfig } from "vitest/config";

const globalSetup = ["test/support/global-setup.ts"];
const pure = [
  "test/domain/**/*.test.ts",
  "test/platform/**/*.test.ts",
  "test/services/webhooks/unit/**/*.test.ts",
  "test/*.test.ts",
];
// What is waited for is there soon or not at all; a busy machine must not decide which.
const poll = { expect: { poll: { timeout: 60_000 } } };
const ownProcesses = ["test/kill/**/*.test.ts", "test/dev/**/*.test.ts"];

export default defineConfig({
  test: {
    reporters: ["default", "./test/support/closing-line.ts"],
    projects: [
      {
        // Pure code: no server at all.
        test: { name: "unit", include: pure, testTimeout: 90_000, ...poll, sequence: { groupOrder: 0 } },
      },
      {
        // Against one api and one worker, on a real Postgres and a real Temporal server, all on throw-away state. These
        // tests wait more than they compute, so more files run at once than there are cores.
        test: {
          name: "service",
          include: ["test/**/*.test.ts"],
          exclude: [...pure, ...ownProcesses],
          globalSetup,
          testTimeout: 90_000,
          hookTimeout: 120_000,
          ...poll,
          maxWorkers: 4,
          sequence: { groupOrder: 1 },
        },
      },
      {
        // The engine's tests once more, on workers that forget every workflow after each step: all of it is replayed at the
        // next one, so whatever is not deterministic shows at once. One run at a time: without a cache the SDK throws out any
        // other workflow as well, with the local activities it waits for, and that step is then repeated ten seconds later.
        test: {
          name: "uncached",
          include: ["test/engine/**/*.test.ts"],
          globalSetup,
          testTimeout: 120_000,
          hookTimeout: 120_000,
          ...poll,
          maxWorkers: 1,
          maxConcurrency: 1,
          sequence: { groupOrder: 2 },
        },
      },
      {
        // Tests that start, stop and kill processes of their own: one file at a time, or their time limits mean nothing.
        test: {
          name: "kill",
          include: ownProcesses,
          globalSetup,
          testTimeout: 240_000,
          hookTimeout: 120_000,
          ...poll,
          maxWorkers: 1,
          sequence: { groupOrder: 3 },
        },
      },
    ],
  },
});
