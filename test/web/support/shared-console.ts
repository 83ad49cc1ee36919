import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll } from "vitest";
import { openTenant } from "../../api/tenant.ts";
import type { ApiTenant } from "../../api/tenant.ts";
import { openBrowser } from "./browser.ts";
import { expectNoFaults } from "./console.ts";

/** The Chromium that all files share, from the first test of a file on. */
export let browser: Browser;
/** An organisation of the file's own. */
export let tenant: ApiTenant;

/**
 * Opens both for the tests of a file. No test may leave a page that has broken its policy or thrown. Files of one process share this
 * module, and run one after the other.
 */
export function useConsole(): void {
  let close: (() => Promise<void>) | undefined;
  beforeAll(async () => {
    [{ browser, close }, tenant] = await Promise.all([openBrowser(), openTenant()]);
  }, 300_000);
  afterEach(expectNoFaults);
  afterAll(() => close?.());
}
