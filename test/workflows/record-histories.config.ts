import { defineConfig } from "vitest/config";

// `npm run histories:record`: stores Temporal's histories of the example flows and of every other workflow, for replay.test.ts.
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: "service",
          include: ["test/workflows/record-histories.ts"],
          globalSetup: ["test/support/global-setup.ts"],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});
