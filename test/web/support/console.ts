import { randomBytes } from "node:crypto";
import axe from "axe-core";
import type { Browser, BrowserContext, Page, Request } from "playwright-core";
import { expect } from "vitest";
import { uuidv7 } from "uuidv7";
import { createSignInLink } from "../../../src/services/accounts/sessions.ts";
import { insertUser } from "../../../src/stores/accounts/users.ts";
import type { UserRole } from "../../../src/stores/accounts/users.ts";
import type { ApiTenant } from "../../api/tenant.ts";

/** What a page must never do; whatever of it happens is written down, and no test may leave any of it. */
const faults: string[] = [];

// What runs in the page is text: these files are of Node, whose types know no document.
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
  /** Whether its clock can be set on: what a page asks for now and then, it asks for when `page.clock.fastForward` says so. */
  readonly ownClock?: boolean;
  /** Of who is signed in. */
  readonly email?: string;
}

/** A fresh window without a session, whose every fault is noted. */
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

/** Fails where any page has broken its policy, thrown, or sent a request nobody asked for since the last call. */
export function expectNoFaults(): void {
  expect(faults.splice(0)).toEqual([]);
}

/** A window in which a new user of the organisation is signed in, at a path of the console. */
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
  await page.getByRole("navigation", { name: "Pages" }).waitFor();
  return { page, context, email };
}

export const address = (tenant: ApiTenant, path: string): string => `${tenant.target.url}/console${path}`;

/** Goes to another page of the console as a link does: without loading the console again. */
export const visit = (page: Page, path: string): Promise<void> =>
  page.evaluate(`history.pushState(null, "", "/console${path}"); dispatchEvent(new PopStateEvent("popstate"))`);

/** What axe finds fault with on a page: the rule, and where. */
export async function violations(page: Page): Promise<string[]> {
  if (!(await page.evaluate<boolean>("'axe' in globalThis"))) await page.evaluate(axe.source);
  return page.evaluate(RUN_AXE);
}

/** By how much the page is wider than its window, or a table than the room that it has. */
export const overflow = (page: Page): Promise<number> =>
  page.evaluate(`Math.max(...[document.documentElement, ...document.querySelectorAll(".table-scroll")]
    .map(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth))`);

/** In both looks axe finds no fault, and in no window anything is wider than it, the narrowest first. `what` names the page in a failure. */
export async function checkBothLooks(page: Page, what = ""): Promise<void> {
  for (const [width, colorScheme] of [[360, "dark"], [768], [1024], [1280, "light"]] as const) {
    await page.setViewportSize({ width, height: 800 });
    if (colorScheme !== undefined) {
      await page.emulateMedia({ colorScheme });
      expect(await violations(page), `${what} ${colorScheme}`).toEqual([]);
    }
    expect(await overflow(page), `${what} ${width} px`).toBeLessThanOrEqual(1);
  }
}

/** Waits until the page says this. */
export const text = (page: Page, what: string | RegExp): Promise<void> => page.getByText(what).first().waitFor();

/** The paths of the event streams that a page has open, as they come and go. */
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
