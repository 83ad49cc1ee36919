import { defineConfig } from "vitest/config";
import { LONG_ONLY } from "./test/support/long-files.ts";
import { SlowFirst } from "./test/support/slow-first.ts";

const globalSetup = ["test/support/global-setup.ts"];
const pure = [
  "test/domain/**/*.test.ts",
  "test/platform/**/*.test.ts",
  "test/services/*/unit/**/*.test.ts",
  "test/*.test.ts",
];
// What is waited for is there soon or not at all; a busy machine must not decide which.
// It is not asked for all the time, which takes the processor from it.
const poll = { expect: { poll: { timeout: 60_000, interval: 100 } } };
const web = ["test/web/**/*.test.ts"];
const ownProcesses = ["test/kill/**/*.test.ts", "test/dev/**/*.test.ts"];
/** Run with vitest.long.config.ts. */
const long = ["test/long/**", ...LONG_ONLY];

export default defineConfig({
  test: {
    reporters: ["default", "./test/support/closing-line.ts"],
    sequence: { sequencer: SlowFirst },
    projects: [
      {
        // Pure code: no server at all.
        test: {
          name: "unit",
          include: pure,
          setupFiles: ["test/support/seed.ts"],
          testTimeout: 90_000,
          ...poll,
          isolate: false,
          maxWorkers: 2,
          sequence: { groupOrder: 0 },
        },
      },
      {
        // Against one api and one worker, on a real Postgres and a real Temporal server, all on throw-away state. These
        // tests wait more than they compute, so more files run at once than there are cores.
        test: {
          name: "service",
          include: ["test/**/*.test.ts"],
          exclude: [...pure, ...web, ...ownProcesses, ...long],
          globalSetup,
          // Replays what each file ran: whatever is not deterministic shows there.
          setupFiles: ["test/support/seed.ts", "test/support/replay-runs.ts", "test/support/stop-monitors.ts"],
          testTimeout: 90_000,
          hookTimeout: 120_000,
          ...poll,
          isolate: false,
          maxWorkers: 4,
          sequence: { groupOrder: 1 },
        },
      },
      {
        // The console in one Chromium, on the service of the tests above. A browser computes most of the time, the tests below
        // wait, so they run side by side. What their runs do is replayed with the tests above.
        test: {
          name: "web",
          include: web,
          globalSetup: ["test/web/support/global-setup.ts"],
          setupFiles: ["test/support/seed.ts"],
          testTimeout: 90_000,
          hookTimeout: 120_000,
          ...poll,
          isolate: false,
          maxWorkers: 3,
          sequence: { groupOrder: 2 },
        },
      },
      {
        // Tests that start, stop and kill processes of their own. They wait for most of their time, but with more than three
        // files at once two cores are not enough for the servers that each of them starts.
        test: {
          name: "kill",
          include: ownProcesses,
          exclude: long,
          globalSetup,
          testTimeout: 240_000,
          hookTimeout: 120_000,
          ...poll,
          isolate: false,
          maxWorkers: 3,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
