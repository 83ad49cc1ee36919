import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { failing, openTenant } from "../api/tenant.ts";
import type { ApiTenant } from "../api/tenant.ts";
import { openBrowser } from "./support/browser.ts";
import { expectNoFaults, overflow, signedIn, violations, visit } from "./support/console.ts";
import { pausedRun } from "./support/pauses.ts";

/** A name that would be a script, were it ever taken for markup. */
const HOSTILE = "<img src=x onerror=alert(1)>";
const LOOKS = [
  ["light", 1280],
  ["dark", 360],
] as const;

let browser: Browser;
let close: () => Promise<void>;
let tenant: ApiTenant;
beforeAll(async () => {
  [{ browser, close }, tenant] = await Promise.all([openBrowser(), openTenant()]);
}, 300_000);
afterEach(expectNoFaults);
afterAll(() => close());

describe("every page", () => {
  let pages: ReadonlyArray<readonly [path: string, ready: readonly ["heading" | "region", string]]>;
  beforeAll(async () => {
    const definition = failing();
    const nodes = definition.nodes.map((node) => ({ ...node, name: HOSTILE }));
    const hostile = await tenant.secret.post("/v2/projects", { name: HOSTILE, flow: { ...definition, nodes } });
    const { body: run } = await tenant.secret.post("/v2/runs", {
      project_id: hostile.body.project_id,
      inputs: { "in-0": HOSTILE },
      tags: [HOSTILE],
      metadata: { [HOSTILE]: HOSTILE },
      user_id: HOSTILE,
      mode: "sync",
    });
    const { pause_id } = await pausedRun(tenant, HOSTILE);
    const { body: hook } = await tenant.secret.post("/v2/webhooks/subscriptions", {
      url: "http://127.0.0.1:9/hook",
      events: ["run.*"],
      description: HOSTILE,
    });
    await tenant.secret.post("/v2/api-keys", { name: HOSTILE, kind: "public" });
    const heading = (name: string) => ["heading", name] as const;
    const table = (name: string) => ["region", name] as const;
    pages = [
      ["/", heading("Home")],
      ["/runs", heading("Runs")],
      ["/runs?tag=none", heading("No run matches")],
      [`/runs/${run.run_id}`, heading("Timeline")],
      [`/runs/${run.run_id}?node=guard-0`, heading(HOSTILE)],
      ["/runs/0197f0a0-0000-7000-8000-000000000000", heading("There is no such run")],
      ["/inbox", heading("Inbox")],
      [`/inbox/${pause_id}`, heading(`Pay ${HOSTILE}?`)],
      ["/webhooks", heading("Webhooks")],
      [`/webhooks/${hook.subscription_id}`, heading("Deliveries")],
      ["/access", table("Users")],
      ["/access?tab=keys", table("API keys")],
      ["/access?tab=sessions", table("Sessions")],
      ["/settings", heading("Limits")],
      ["/nothing", heading("There is no such page")],
    ];
  });

  it("console-xss: is harmless and without fault for axe, light and wide, dark and narrow", async () => {
    const { page, context } = await signedIn(browser, tenant, "admin");
    for (const [path, [role, name]] of pages) {
      await visit(page, path);
      await page.getByRole(role, { name, exact: true }).first().waitFor();
      await expect.poll(() => page.locator(".skeleton").count()).toBe(0);
      for (const [colorScheme, width] of LOOKS) {
        await page.emulateMedia({ colorScheme });
        await page.setViewportSize({ width, height: 800 });
        expect(await violations(page), `${path} ${colorScheme}`).toEqual([]);
        expect(await overflow(page), `${path} ${width} px`).toBeLessThanOrEqual(1);
      }
      expect(await page.locator("img").count(), path).toBe(0);
    }
    await context.close();
  });
});
