import { chromium, type Browser } from "playwright-core";
import { openTenant, type ApiTenant } from "../../api/tenant.ts";
import { startService } from "../../support/service.ts";
import { launchBrowser } from "./browser.ts";

export interface OwnConsole {
  readonly tenant: ApiTenant;
  readonly browser: Browser;
  close(): Promise<void>;
}

/** A separate installation and Chromium for one file, so that other files do not disturb its measurements. */
export async function openOwnConsole(): Promise<OwnConsole> {
  const [launched, own] = await Promise.all([launchBrowser(), startService()]);
  const tenant = await openTenant(own);
  const browser = await chromium.connect(launched.endpoint);
  return {
    tenant,
    browser,
    async close() {
      await browser.close();
      await Promise.all([launched.close(), own.close()]);
    },
  };
}
