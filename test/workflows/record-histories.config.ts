import { defineConfig } from "vitest/config";

// `npm run histories:record`: writes what Temporal holds of the example flows and of each other workflow, for replay.test.ts.
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
