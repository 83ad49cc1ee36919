import type { TestProject } from "vitest/node";
import setUpServers from "../../support/global-setup.ts";
import { launchBrowser } from "./browser.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The Chromium that all files share, or the reason why there is none. */
    browser: { readonly endpoint: string } | { readonly problem: string };
  }
}

/** Starts the shared servers and one Chromium. */
export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  const [tearDown, browser] = await Promise.all([
    setUpServers(project),
    launchBrowser().catch((error: Error) => ({ problem: error.message })),
  ]);
  project.provide("browser", "problem" in browser ? browser : { endpoint: browser.endpoint });
  return async () => {
    if (!("problem" in browser)) await browser.close();
    await tearDown();
  };
}
