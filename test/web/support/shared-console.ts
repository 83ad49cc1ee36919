import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll } from "vitest";
import { openTenant, type ApiTenant } from "../../api/tenant.ts";
import { openBrowser } from "./browser.ts";
import { expectNoFaults } from "./console.ts";

/** The shared Chromium, available from the first test of a file. */
export let browser: Browser;
/** The organisation of the test file. */
export let tenant: ApiTenant;

/**
 * Opens both for the tests of a file, and fails tests that leave a page with a fault. Files in one process share this
 * module and run one after the other.
 */
export function useConsole(): void {
  let close: (() => Promise<void>) | undefined;
  beforeAll(async () => {
    [{ browser, close }, tenant] = await Promise.all([openBrowser(), openTenant()]);
  }, 300_000);
  afterEach(expectNoFaults);
  afterAll(() => close?.());
}
