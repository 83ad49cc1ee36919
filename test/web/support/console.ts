import { randomBytes } from "node:crypto";
import axe from "axe-core";
import type { Browser, BrowserContext, Page, Request } from "playwright-core";
import { expect, onTestFinished, TestRunner } from "vitest";
import { uuidv7 } from "uuidv7";
import { createSignInLink } from "../../../src/services/accounts/sessions.ts";
import { insertUser, type UserRole } from "../../../src/stores/accounts/users.ts";
import type { ApiTenant } from "../../api/tenant.ts";

/** Faults of pages, such as exceptions and policy violations; every test must end without any. */
const faults: string[] = [];

// Code for the page is text, because the types of Node in these files have no document.
const NOTE_VIOLATIONS = `document.addEventListener("securitypolicyviolation", (event) => {
  console.error("CSP violation: " + event.violatedDirective + " " + event.blockedURI + " " + event.sample);
});`;
const RUN_AXE = `axe.run(document, { resultTypes: ["violations"], preload: false }).then(({ violations }) =>
  violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ": " + html.slice(0, 160))))`;

export interface View {
  readonly width?: number;
  readonly height?: number;
  readonly theme?: "light" | "dark";
  readonly timeZone?: string;
  /** Whether the test controls the page's clock; then the page polls only when `page.clock.fastForward` advances it. */
  readonly ownClock?: boolean;
  /** E-mail address of the signed-in user. */
  readonly email?: string;
}

/** Opens a new window without a session, and records all its faults. It closes after the test, or stays if no test has opened it. */
export async function openWindow(
  browser: Browser,
  { width = 1280, height = 800, theme = "light", timeZone, ownClock = false }: View = {},
): Promise<{ readonly page: Page; readonly context: BrowserContext }> {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: theme,
    reducedMotion: "reduce",
    ...(timeZone !== undefined && { timezoneId: timeZone }),
  });
  if (TestRunner.getCurrentTest() !== undefined) onTestFinished(() => context.close());
  context.setDefaultTimeout(45_000);
  if (ownClock) await context.clock.install();
  const page = await context.newPage();
  await page.addInitScript(NOTE_VIOLATIONS);
  page.on("console", (message) => {
    if (/CSP violation|Content Security Policy|TrustedHTML/.test(message.text())) faults.push(message.text());
  });
  page.on("pageerror", (error) => faults.push(String(error)));
  page.on("dialog", (dialog) => {
    faults.push(`a dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  return { page, context };
}

/** Fails if, since the last call, any page has violated its policy, thrown, or sent an unexpected request. */
export function expectNoFaults(): void {
  expect(faults.splice(0)).toEqual([]);
}

/** Opens a page of the console in a window in which a new user of the organisation is signed in. */
export async function signedIn(
  browser: Browser,
  tenant: ApiTenant,
  role: UserRole,
  path = "/",
  view: View = {},
): Promise<{ readonly page: Page; readonly context: BrowserContext; readonly email: string }> {
  const { email = `${role}-${randomBytes(6).toString("hex")}@example.test` } = view;
  const user = { user_id: uuidv7(), org_id: tenant.org_id, email, role, password_hash: "none" };
  const link = await tenant.withDatabase(async (database) => {
    await database.org(tenant.org_id, (db) => insertUser(db, user));
    return createSignInLink(database, user);
  });
  const { page, context } = await openWindow(browser, view);
  await page.goto(`${address(tenant, path)}#link=${link}`);
  await page.locator("main#content").waitFor();
  return { page, context, email };
}

export const address = (tenant: ApiTenant, path: string): string => `${tenant.target.url}/console${path}`;

/** Goes to another page of the console as a link does, without reloading the console. */
export const visit = (page: Page, path: string): Promise<void> =>
  page.evaluate(`history.pushState(null, "", "/console${path}"); dispatchEvent(new PopStateEvent("popstate"))`);

/** The accessibility violations that axe finds on a page: rule and element. */
export async function violations(page: Page): Promise<string[]> {
  if (!(await page.evaluate<boolean>("'axe' in globalThis"))) await page.evaluate(axe.source);
  return page.evaluate(RUN_AXE);
}

/** By how many pixels the page exceeds its window, or a table its container. */
export const overflow = (page: Page): Promise<number> =>
  page.evaluate(`Math.max(...[document.documentElement, ...document.querySelectorAll(".table-scroll")]
    .map(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth))`);

const DARK = [360, "dark"] as const;
const LIGHT = [1280, "light"] as const;
type Look = readonly [width: number, colorScheme?: "dark" | "light"];

async function checkLooks(page: Page, what: string, looks: readonly Look[]): Promise<void> {
  for (const [width, colorScheme] of looks) {
    await page.setViewportSize({ width, height: 800 });
    if (colorScheme !== undefined) {
      await page.emulateMedia({ colorScheme });
      expect(await violations(page), `${what} ${colorScheme}`).toEqual([]);
    }
    // Some parts measure themselves after the window has changed.
    await expect.poll(() => overflow(page), { message: `${what} ${width} px` }).toBeLessThanOrEqual(1);
  }
}

/**
 * Checks both themes with axe, and that nothing is wider than windows of several sizes, narrowest first. `what` names
 * the page in a failure.
 */
export const checkBothLooks = (page: Page, what = ""): Promise<void> =>
  checkLooks(page, what, [DARK, [768], [1024], LIGHT]);

/** Checks dark and narrow, or light and wide, in turns. */
export const checkOneLook = (page: Page, what: string, turn: number): Promise<void> =>
  checkLooks(page, what, [turn % 2 === 0 ? DARK : LIGHT]);

/** Waits until the page shows this text. */
export const text = (page: Page, what: string | RegExp): Promise<void> => page.getByText(what).first().waitFor();

/** The paths of the page's open event streams, updated as they open and close. */
export function openStreams(page: Page): string[] {
  const open: string[] = [];
  page.on("request", (request) => {
    if (request.resourceType() === "eventsource") open.push(new URL(request.url()).pathname);
  });
  const end = (request: Request): void => {
    const at = request.resourceType() === "eventsource" ? open.indexOf(new URL(request.url()).pathname) : -1;
    if (at !== -1) open.splice(at, 1);
  };
  page.on("requestfinished", end);
  page.on("requestfailed", end);
  return open;
}
