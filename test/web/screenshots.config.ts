import { defineConfig } from "vitest/config";

// `npm run docs:screenshots`: takes the screenshots of docs/console.md again.
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: "web",
          include: ["test/web/screenshots.ts"],
          globalSetup: ["test/web/support/global-setup.ts"],
          testTimeout: 240_000,
          hookTimeout: 120_000,
          expect: { poll: { timeout: 60_000 } },
        },
      },
    ],
  },
});
