import { defineConfig } from "vitest/config";
import { LONG_OWN, LONG_SHARED, LONG_WEB } from "./test/support/long-files.ts";
import { inBrowser, onSharedService, poll } from "./test/support/projects.ts";
import { SlowFirst } from "./test/support/slow-first.ts";

const pure = [
  "test/domain/**/*.test.ts",
  "test/platform/**/*.test.ts",
  "test/services/*/unit/**/*.test.ts",
  "test/web-flow/**/*.test.ts",
  "test/web-published/**/*.test.ts",
  "test/*.test.ts",
];
const web = ["test/web/**/*.test.ts"];
const ownProcesses = ["test/kill/**/*.test.ts", "test/dev/**/*.test.ts"];
/** Run with vitest.long.config.ts; a file that is named runs here as well. */
const longFiles = [...LONG_OWN, ...LONG_SHARED, ...LONG_WEB].filter((file) => !process.argv.includes(file));
const long = ["test/long/**", ...longFiles];

export default defineConfig({
  test: {
    reporters: ["default", "./test/support/closing-line.ts"],
    sequence: { sequencer: SlowFirst },
    // Otherwise each project transforms the sources again, in each run.
    experimental: { fsModuleCache: true },
    projects: [
      {
        // Pure code: no server at all. Some files wait for processes of their own, so more run at once than there are cores.
        test: {
          name: "unit",
          include: pure,
          setupFiles: ["test/support/seed.ts"],
          testTimeout: 90_000,
          ...poll,
          isolate: false,
          maxWorkers: 3,
          sequence: { groupOrder: 0 },
        },
      },
      onSharedService({ include: ["test/**/*.test.ts"], exclude: [...pure, ...web, ...ownProcesses, ...long] }, 1),
      // A browser computes most of the time, the tests below wait, so they run side by side.
      inBrowser({ include: web, exclude: long }, 2),
      {
        // Tests that start, stop and kill processes of their own. They wait for most of their time, but with more than three
        // files at once two cores are not enough for the servers that each of them starts.
        test: {
          name: "kill",
          include: ownProcesses,
          exclude: long,
          globalSetup: ["test/support/global-setup.ts"],
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
