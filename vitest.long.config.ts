import { defineConfig } from "vitest/config";
import { LONG_OWN, LONG_SHARED, LONG_WEB } from "./test/support/long-files.ts";
import { inBrowser, onSharedService, poll } from "./test/support/projects.ts";
import { SlowFirst } from "./test/support/slow-first.ts";

// npm test runs on the newest Postgres that is supported, these on the oldest.
process.env["MILLRACE_TEST_POSTGRES"] ??= "oldest";
process.env["MILLRACE_TEST"] = "long";

/** What is measured there must not be disturbed by other files. */
const alone = ["test/long/console-large-run.test.ts"];

// `npm run test:long`: what takes minutes each. Parts that are killed again and again for MILLRACE_SOAK_MINUTES (default
// 10), servers that are gone or frozen under load, every phase of schemathesis, all patterns of the sources, an upgrade, what the
// image is made of, what takes long for what it shows (test/support/long-files.ts), and the kills, starts and costly
// flows of which npm test has a few (test/support/long.ts).
const common = {
  globalSetup: ["test/support/global-setup.ts"],
  setupFiles: ["test/support/seed.ts"],
  testTimeout: 24 * 60 * 60 * 1000,
  hookTimeout: 120_000,
  ...poll,
};

export default defineConfig({
  test: {
    reporters: ["verbose", "./test/support/closing-line.ts"],
    sequence: { sequencer: SlowFirst },
    // Otherwise each project transforms the sources again, in each run.
    experimental: { fsModuleCache: true },
    projects: [
      onSharedService({ include: [...LONG_SHARED, "test/security/fuzz-runs.test.ts"] }, 0),
      inBrowser({ include: [...LONG_WEB, "test/web/every-dialog.test.ts", "test/web/every-page.test.ts"] }, 1),
      {
        // These wait for most of their time: for what is killed to come back, for what is due.
        test: {
          ...common,
          name: "long",
          include: [
            "test/long/**/*.test.ts",
            "test/stores/**/*.test.ts",
            ...LONG_OWN,
            "test/dev/npm-start.test.ts",
            "test/kill/cancel.test.ts",
            "test/kill/lost-workflows.test.ts",
            "test/security/costly-flows.test.ts",
            "test/node-kind.test.ts",
            "test/services/secrets/data-keys.test.ts",
          ],
          exclude: alone,
          maxWorkers: 3,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: { ...common, name: "alone", include: alone, maxWorkers: 1, sequence: { groupOrder: 2 } },
      },
    ],
  },
});
