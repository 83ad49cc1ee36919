import { defineConfig } from "vitest/config";

// `npm run soak`: parts are killed again and again for MILLRACE_SOAK_MINUTES (default 10), then servers are gone, killed
// and frozen, for 20 s under load.
export default defineConfig({
  test: {
    reporters: ["verbose", "./test/support/closing-line.ts"],
    projects: [
      {
        test: {
          name: "soak",
          include: ["bench/soak.test.ts", "test/kill/outage.test.ts"],
          globalSetup: ["test/support/global-setup.ts"],
          env: { MILLRACE_OUTAGE_MS: "20000" },
          testTimeout: 24 * 60 * 60 * 1000,
          hookTimeout: 120_000,
          maxWorkers: 1,
        },
      },
    ],
  },
});
